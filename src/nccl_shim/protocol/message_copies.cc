#include "nccl_shim/protocol/message_copies.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace duet::nccl_shim {
namespace {

using What = WordOperation::What;

std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

MessageCopies::MessageCopies(const OwnRank& rank, LentMemory& lent, BorrowedMemory& borrowed,
                             double wait_seconds_per_byte, const Failure& failure)
    : OwnRank(rank),
      lent_(lent),
      borrowed_(borrowed),
      wait_seconds_per_byte_(wait_seconds_per_byte),
      failure_(failure),
      send_staging_(device_),
      receive_staging_(device_),
      ready_(device_.create_event()) {}

MessageCopies::~MessageCopies() {
  for (auto* lanes : {&push_lanes_, &pull_lanes_}) {
    for (Lane& each : *lanes) {
      if (each.stream != nullptr) device_.destroy_stream(each.stream);
    }
  }
}

void MessageCopies::publish(const std::vector<Message>& messages, bool in_group) {
  OwnPairs own = own_pairs(messages);
  std::vector<Begun> placed;
  std::size_t sent = 0, received = 0;  // bytes of staging buffers
  for (const auto what : {Message::What::receive, Message::What::send}) {
    for (const Message& each : messages) {
      if (each.what != what || each.peer == rank_) continue;
      placed.push_back({each, 0, static_cast<char*>(each.buffer), {}, Way::revoked, 0});
      (sends(placed.back()) ? sent : received) += place(placed.back());
    }
  }
  if (sent > 0) stage(placed, Message::What::send, send_staging_.at_least(sent));
  if (received > 0) stage(placed, Message::What::receive, receive_staging_.at_least(received));
  own_ = std::move(own);
  for (Begun& each : placed) {
    wait_for_room(each);
    each.number = ++counts(each).number;
    record(each);
    const bool may_be_in_group = in_group && process(each.message.peer) == nullptr;
    each.way = take(each, may_be_in_group || wait_seconds(each, placed) > 0);
    begun_.push_back(each);
  }
}

MessageCopies::OwnPairs MessageCopies::own_pairs(const std::vector<Message>& messages) const {
  OwnPairs pairs;
  std::size_t sent = 0, received = 0;
  for (const Message& each : messages) {
    if (each.peer != rank_) continue;
    const bool sends = each.what == Message::What::send;
    std::size_t& index = sends ? sent : received;
    if (index == pairs.size()) pairs.emplace_back();
    (sends ? pairs[index].first : pairs[index].second) = each;
    ++index;
  }
  for (const auto& [send, receive] : pairs) {
    if (send.bytes == receive.bytes) continue;
    throw BadArgument(rank_name(rank_) + " sends itself " + std::to_string(send.bytes) +
                      " bytes and receives " + std::to_string(receive.bytes) +
                      ": expected both in one group, of the same count and type");
  }
  return pairs;
}

// How many bytes of a staging buffer it needs.
std::size_t MessageCopies::place(Begun& begun) {
  try {
    begun.place = lent_.place(begun.message.buffer, begun.message.bytes);
    return 0;
  } catch (const Unavailable&) {
    begun.lent = nullptr;
    return aligned(begun.message.bytes);
  }
}

void MessageCopies::stage(std::vector<Begun>& placed, Message::What what, char* staging) {
  for (Begun& each : placed) {
    if (each.message.what != what || each.lent != nullptr) continue;
    each.lent = staging;
    each.place = lent_.place(staging, each.message.bytes, LentMemory::Owner::drop_in);
    staging += aligned(each.message.bytes);
  }
}

// The peer may still read the record of the message kMessagesAhead before.
void MessageCopies::wait_for_room(const Begun& begun) const {
  const int peer = begun.message.peer;
  const auto& read = sends(begun) ? shared_.received_read : shared_.sent_read;
  const std::uint64_t next = (sends(begun) ? to_ : from_)[peer].number + 1;
  nccl_shim::wait_for_room(shared_, process(peer), peer, [&] {
    return read[peer][rank_].load(std::memory_order_acquire) + kMessagesAhead >= next;
  });
}

MessageCopies::Counts& MessageCopies::counts(const Begun& begun) {
  return (sends(begun) ? to_ : from_)[begun.message.peer];
}

void MessageCopies::record(const Begun& begun) {
  auto& records = sends(begun) ? shared_.sent : shared_.received;
  records[rank_][begun.message.peer][begun.number % kMessagesAhead] = {begun.message.bytes,
                                                                       begun.place};
}

const MessageRecord& MessageCopies::record_of_peer(const Begun& begun) const {
  const auto& records = sends(begun) ? shared_.received : shared_.sent;
  return records[begun.message.peer][rank_][begun.number % kMessagesAhead];
}

PairState& MessageCopies::state(const Begun& begun) const {
  const int peer = begun.message.peer;
  const int source = sends(begun) ? rank_ : peer, destination = sends(begun) ? peer : rank_;
  return shared_.message_states[source][destination][begun.number % kMessagesAhead];
}

// For how long a sender stays in the place of a first that waits.
double MessageCopies::wait_seconds(const Begun& begun, const std::vector<Begun>& of_group) const {
  const auto comes_back = [&](const Begun& each) {
    return !sends(each) && each.message.peer == begun.message.peer;
  };
  if (!sends(begun) || std::none_of(of_group.begin(), of_group.end(), comes_back)) return 0;
  return wait_seconds_per_byte_ * static_cast<double>(begun.message.bytes);
}

MessageCopies::Way MessageCopies::take(const Begun& begun, bool waits) const {
  const bool may_wait = sends(begun) && waits;
  const Role role = state(begun).come(begun.number, may_wait);
  if (role == Role::none) return Way::revoked;
  if (role == Role::first && may_wait) return Way::waiting;
  if (role == Role::sharing) return Way::pushed;
  return sends(begun) == (role == Role::second) ? Way::pushed : Way::pulled;
}

void MessageCopies::wait_for_late_peers() {
  const double since = steady_now();
  for (Begun& each : begun_) {
    if (each.way != Way::waiting) continue;
    const double end = since + wait_seconds(each, begun_);
    const bool is_shared = state(each).wait_for_other(each.number, end, failure_);
    each.way = is_shared ? Way::pushed : Way::pulled;
  }
}

void MessageCopies::settle() {
  if (is_settled_) return;
  wait_for_late_peers();
  for (Begun& each : begun_) {
    if (each.way == Way::pushed) each.turn = ++counts(each).pushed;
    if (each.way == Way::pulled) each.turn = ++counts(each).pulled;
  }
  is_settled_ = true;
}

void MessageCopies::give_up() {
  settle();
  end_group();
}

void MessageCopies::end_group() {
  begun_.clear();
  own_.clear();
  is_settled_ = false;
}

void MessageCopies::start(Stream user) {
  settle();
  // Before address(): a peer's new buffer may be where one was that it has freed. Also where this
  // rank copies nothing: unmapping waits for all work of the device, so a program that holds its
  // streams back must be able to tell at which call it happens.
  borrowed_.release_ended();
  for (const Begun& each : begun_) check(each);
  for (const Begun& each : begun_) {
    if (sends(each) && each.lent != each.message.buffer) {
      device_.copy(user, each.lent, each.message.buffer, each.message.bytes);
    }
  }
  signal_ready(user);
  device_.record(*ready_, user);
  for (const Begun& each : begun_) {
    if (is_copied_here(each)) copy(each);
    auto& read = sends(each) ? shared_.sent_read : shared_.received_read;
    read[rank_][each.message.peer].store(each.number, std::memory_order_release);
  }
  for (Lane* each : used_lanes()) device_.record(*each->end, each->stream);
}

bool MessageCopies::is_copied_here(const Begun& begun) const {
  return begun.way == (sends(begun) ? Way::pushed : Way::pulled);
}

void MessageCopies::check(const Begun& begun) const {
  const int peer = begun.message.peer;
  if (begun.way == Way::revoked) throw PeerFailed(rank_name(peer) + " has aborted");
  if (!is_copied_here(begun)) return;  // the peer may not have come yet
  const std::uint64_t own = begun.message.bytes, theirs = record_of_peer(begun).bytes;
  if (own == theirs) return;
  throw BadArgument(rank_name(sends(begun) ? rank_ : peer) + " sends " +
                    std::to_string(sends(begun) ? own : theirs) + " bytes and " +
                    rank_name(sends(begun) ? peer : rank_) + " receives " +
                    std::to_string(sends(begun) ? theirs : own) +
                    ": expected the same count and type");
}

// One set of a word is for all of a group.
void MessageCopies::signal_ready(Stream user) {
  std::vector<WordOperation> signals;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer_copies(peer, Message::What::receive)) {
      signals.push_back({What::set, &words(rank_, peer).receivable, from_[peer].pushed});
    }
    if (peer_copies(peer, Message::What::send)) {
      signals.push_back({What::set, &words(rank_, peer).sendable, to_[peer].pulled});
    }
  }
  if (!signals.empty()) device_.words(user, signals);
}

// Whether the peer copies any of those that this rank sends it, or receives from it, in this group.
bool MessageCopies::peer_copies(int peer, Message::What what) const {
  return std::any_of(begun_.begin(), begun_.end(), [&](const Begun& each) {
    return each.message.peer == peer && each.message.what == what && !is_copied_here(each);
  });
}

MessageCopies::Lane& MessageCopies::lane(const Begun& begun) {
  Lane& lane = (sends(begun) ? push_lanes_ : pull_lanes_)[begun.message.peer];
  if (lane.stream == nullptr) {
    lane.stream = device_.create_stream();
    lane.end = device_.create_event();
  }
  return lane;
}

std::vector<MessageCopies::Lane*> MessageCopies::used_lanes() {
  std::vector<Lane*> used;
  for (auto* lanes : {&push_lanes_, &pull_lanes_}) {
    for (Lane& each : *lanes) {
      if (each.is_used) used.push_back(&each);
    }
  }
  return used;
}

void MessageCopies::copy(const Begun& begun) {
  const int peer = begun.message.peer;
  char* const theirs = borrowed_.address(peer, record_of_peer(begun).place, process(peer));
  Lane& on = lane(begun);
  if (!on.is_used) device_.wait(on.stream, *ready_);
  on.is_used = true;
  const bool pushes = sends(begun);
  Word& ready = pushes ? words(peer, rank_).receivable : words(peer, rank_).sendable;
  Word& done = pushes ? words(rank_, peer).pushed : words(rank_, peer).pulled;
  device_.words(on.stream, {{What::wait, &ready, begun.turn}});
  device_.copy(on.stream, pushes ? theirs : begun.lent, pushes ? begun.lent : theirs,
               begun.message.bytes);
  device_.words(on.stream, {{What::set, &done, begun.turn}});
}

void MessageCopies::finish(Stream user) {
  for (const auto& [sent, received] : own_) {
    if (sent.buffer == received.buffer) continue;
    device_.copy(user, received.buffer, sent.buffer, sent.bytes);
  }
  for (Lane* each : used_lanes()) {
    device_.wait(user, *each->end);
    each->is_used = false;
  }
  std::vector<WordOperation> waits;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer_copies(peer, Message::What::receive)) {
      waits.push_back({What::wait, &words(peer, rank_).pushed, from_[peer].pushed});
    }
    if (peer_copies(peer, Message::What::send)) {
      waits.push_back({What::wait, &words(peer, rank_).pulled, to_[peer].pulled});
    }
  }
  waits.push_back({What::wait, &gate(rank_), kGateOpen});
  device_.words(user, waits);
  for (const Begun& each : begun_) {
    if (sends(each) || each.lent == each.message.buffer) continue;
    device_.copy(user, each.message.buffer, each.lent, each.message.bytes);
  }
  end_group();
}

bool MessageCopies::waits_for(int peer) const {
  const MessageWords& from = words(peer, rank_);
  return !has_come(from.receivable, to_[peer].pushed) || !has_come(from.pulled, to_[peer].pulled) ||
         !has_come(from.pushed, from_[peer].pushed) || !has_come(from.sendable, from_[peer].pulled);
}

void MessageCopies::revoke_untaken() {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    expected_[peer] = {from_[peer].pushed - revoked(peer, rank_, from_[peer].number),
                       to_[peer].pulled - revoked(rank_, peer, to_[peer].number)};
  }
}

// How many messages it takes back of the last ones from `source` to `destination`.
std::uint32_t MessageCopies::revoked(int source, int destination, std::uint64_t last) const {
  std::uint32_t count = 0;
  const std::uint64_t oldest = last > kMessagesAhead ? last - kMessagesAhead + 1 : 1;
  auto& states = shared_.message_states[source][destination];
  for (std::uint64_t number = oldest; number <= last; ++number) {
    count += states[number % kMessagesAhead].revoke(number);
  }
  return count;
}

void MessageCopies::end_own_waits() {
  for (int peer = 0; peer < ranks_; ++peer) {
    MessageWords& from = words(peer, rank_);
    std::uint32_t unused = 0;
    force(from.receivable, to_[peer].pushed, unused);
    force(from.sendable, from_[peer].pulled, unused);
    force(from.pushed, from_[peer].pushed, seen_[peer].pushed);
    force(from.pulled, to_[peer].pulled, seen_[peer].pulled);
  }
}

void MessageCopies::record_ends() noexcept {
  for (auto* lanes : {&push_lanes_, &pull_lanes_}) {
    for (Lane& each : *lanes) {
      if (each.stream != nullptr) try_record(device_, *each.end, each.stream);
    }
  }
}

bool MessageCopies::runs() const {
  if (!device_.done(*ready_)) return true;
  const auto lane_runs = [this](const Lane& each) {
    return each.stream != nullptr && !device_.done(*each.end);
  };
  return std::any_of(push_lanes_.begin(), push_lanes_.end(), lane_runs) ||
         std::any_of(pull_lanes_.begin(), pull_lanes_.end(), lane_runs);
}

bool MessageCopies::may_touch(int peer) const {
  return seen_[peer].pushed != expected_[peer].pushed ||
         seen_[peer].pulled != expected_[peer].pulled;
}

}  // namespace duet::nccl_shim
