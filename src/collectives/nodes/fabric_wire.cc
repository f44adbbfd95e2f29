#include "collectives/nodes/fabric_wire.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/session/peer_semaphores.h"
#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

// Tokens of posts: a piece's index, or a permission and the node that gets it.
constexpr std::uint64_t kPermissionToken = std::uint64_t{1} << 63;
constexpr int kNodeShift = 32;

std::uint64_t permission_token(int node, std::size_t permission) {
  return kPermissionToken | static_cast<std::uint64_t>(node) << kNodeShift | permission;
}

bool contains(const Span& whole, const Span& part) {
  return part.data >= whole.data && part.data + part.bytes <= whole.data + whole.bytes;
}

std::size_t source_of(const std::vector<Span>& sources, const Span& part) {
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const Span& whole) { return contains(whole, part); });
  if (found == sources.end()) throw BadArgument("a wire's message: expected a part of its sources");
  return static_cast<std::size_t>(found - sources.begin());
}

std::uint64_t* address_of(const Semaphore& semaphore) {
  return reinterpret_cast<std::uint64_t*>(semaphore.word.data);
}

MessageSize largest_message(const WireTraffic& traffic) {
  MessageSize largest;
  for (const WireMessage& message : traffic.messages) {
    std::uint64_t bytes = 0;
    for (const WirePiece& piece : message.pieces) bytes += piece.source.bytes;
    largest.bytes = std::max(largest.bytes, bytes);
    largest.parts = std::max<std::uint64_t>(largest.parts, message.pieces.size());
    largest.all += bytes;
  }
  return largest;
}

// What the ranks of a column agree on before they plan a wire.
struct AgreedWire {
  MessageSize largest;
  std::vector<std::string> numbers;  // of wires, by node
};

AgreedWire agreed_wire(const std::vector<std::string>& all) {
  AgreedWire agreed;
  for (const std::string& each : all) {
    const std::vector<std::string> fields = unpack(each);
    MessageSize& largest = agreed.largest;
    largest.bytes = std::max<std::uint64_t>(largest.bytes, std::stoull(fields.at(0)));
    largest.parts = std::max<std::uint64_t>(largest.parts, std::stoull(fields.at(1)));
    largest.all = std::max<std::uint64_t>(largest.all, std::stoull(fields.at(2)));
    agreed.numbers.push_back(fields.at(3));
  }
  return agreed;
}

std::vector<std::uint64_t> bytes_of(const std::vector<WirePiece>& parts) {
  std::vector<std::uint64_t> bytes;
  for (const WirePiece& part : parts) bytes.push_back(part.source.bytes);
  return bytes;
}

}  // namespace

FabricWire::FabricWire(const NodeRank& rank, const WireTraffic& traffic, Network& network)
    : network_(network),
      device_(rank.whole.device),
      node_(rank.node),
      nodes_(rank.nodes()),
      messages_(traffic.messages.size()),
      slots_(traffic.slots) {}

FabricWire::FabricWire(NodeRank& rank, const WireTraffic& traffic, Network& network,
                       Watchdog& watchdog)
    : FabricWire(rank, traffic, network) {
  const std::vector<std::string> numbers = agree_on_pieces(rank, traffic);
  rank.whole.team.all_or_none(rank.whole, "all ranks to plan what goes over rails", [&] {
    wire_ = network_.take_wire_number(numbers);
    if (traffic.region_bytes > 0) allocated_ = device_.allocate(traffic.region_bytes);
    region_span_ = traffic.region_bytes > 0 ? allocated_.span() : traffic.region;
    words_ = zeroed_semaphores(device_, static_cast<int>(2 + 4 * messages_), MemoryKind::pinned);
    plan(traffic);
  });
  start_.signals.push_back(word(0));
  done_.waits.push_back(word(1));
  register_regions(rank, traffic);
  DeviceWaits& waits = *this;
  watched_ = std::make_unique<Watched>(watchdog, waits);
}

FabricWire::~FabricWire() {
  watched_.reset();
  network_.run([this] {
    if (added_) network_.remove(wire_);
    region_.reset();
    sources_.clear();
  });
}

// Sender and receiver cut and number a message's pieces alike, though messages differ in size.
std::vector<std::string> FabricWire::agree_on_pieces(NodeRank& rank, const WireTraffic& traffic) {
  const auto own = [&] {
    const MessageSize size = largest_message(traffic);
    return pack({std::to_string(size.bytes), std::to_string(size.parts), std::to_string(size.all),
                 network_.wire_numbers()});
  };
  const auto agreed = rank.in_column.team.gather_as<AgreedWire>(
      rank.in_column, Team::Make(own), "the other nodes to tell the size of their messages",
      agreed_wire);
  cut_.emplace(agreed->largest, network_.rail_count(), network_.path());
  return agreed->numbers;
}

void FabricWire::plan(const WireTraffic& traffic) {
  permitted_.resize(static_cast<std::size_t>(nodes_) + (slots_ > 0 ? messages_ : 0));
  if (first_permission() + permitted_.size() > WireImmediate::kNumbers) {
    throw Unavailable(fmt::format("over rails at most {} pieces of {} KiB and permissions to send",
                                  WireImmediate::kNumbers, cut_->usual_bytes() >> 10));
  }
  for (const WireMessage& message : traffic.messages) add_pieces(traffic, message);
  for (std::size_t i = 0; i < messages_; ++i) {
    states_[i].arrivals = cut_->pieces(traffic.arrivals.at(i), is_last(i)).size();
    const int from = sender_of(i);
    if (std::find(senders_.begin(), senders_.end(), from) == senders_.end()) {
      senders_.push_back(from);
    }
  }
  come_.resize(first_permission());
}

void FabricWire::add_pieces(const WireTraffic& traffic, const WireMessage& message) {
  MessageState state;
  state.node = message.node;
  state.staged = message.staged;
  state.tells_gone = message.tells_gone;
  state.first = pieces_.size();
  const std::size_t index = states_.size();
  for (const auto& [part, done, bytes] : cut_->pieces(bytes_of(message.pieces), is_last(index))) {
    const auto& [from, to] = message.pieces[part];
    const std::size_t source = source_of(traffic.sources, from);
    const auto begin = static_cast<std::uint64_t>(from.data - traffic.sources[source].data);
    const std::size_t number = index * cut_->most() + pieces_.size() - state.first;
    pieces_.push_back(
        {index, static_cast<std::uint32_t>(number), source, begin + done, bytes, to + done, -1});
    bytes_ += bytes;
  }
  state.pieces = pieces_.size() - state.first;
  states_.push_back(state);
}

void FabricWire::register_regions(NodeRank& rank, const WireTraffic& traffic) {
  Rank& column = rank.in_column;
  const auto add_regions = [&] {
    std::string descriptors;
    network_.run([&] {
      RailSet& rails = network_.rails();
      region_ = std::make_unique<Region>(rails, region_span_, node_);
      for (const Span& source : traffic.sources) {
        sources_.push_back(std::make_unique<Region>(rails, source, node_));
      }
      dealer_.emplace(static_cast<std::size_t>(rails.size()));
      descriptors = region_->descriptors();
    });
    return descriptors;
  };
  const auto same = [](std::vector<std::string> all) { return all; };
  const auto all = column.team.gather_as<std::vector<std::string>>(
      column, Team::Make(add_regions), "the other nodes to register memory", same);
  rank.whole.team.all_or_none(rank.whole, "all ranks to know the other nodes' memory", [&] {
    network_.run([&] {
      region_->import_all(*all);
      network_.add(wire_, *this);
      added_ = true;
    });
  });
}

void FabricWire::begin(Stream& stream) {
  if (messages_ > 0) stream.handshake(start_);
}

void FabricWire::end(Stream& stream) {
  if (messages_ > 0) stream.handshake(done_);
}

std::string FabricWire::description() const {
  return fmt::format("between nodes {} messages over {}", messages_, network_.description());
}

bool FabricWire::take(const Semaphore& semaphore) const {
  std::uint64_t* word = address_of(semaphore);
  if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 1) return false;
  __atomic_store_n(word, 0, __ATOMIC_RELEASE);
  return true;
}

void FabricWire::set(const Semaphore& semaphore, std::uint64_t value) const {
  device_.signal(semaphore, value);
}

bool FabricWire::progress() {
  bool found = false;
  if (!active_) {
    if (!take(word(0))) return false;
    begin_call();
    found = true;
  }
  found = tell_free_slots() || found;
  found = queue_messages() || found;
  found = deal_pieces() || found;
  return end_call() || found;
}

void FabricWire::begin_call() {
  active_ = true;
  done_told_ = false;
  unqueued_ = sending_ = coming_ = messages_;
  next_taken_ = 0;
  dealer_->begin(bytes_);
  std::fill(come_.begin(), come_.end(), false);
  for (MessageState& state : states_) {
    state.queued = false;
    state.to_end = state.pieces;
    state.to_come = state.arrivals;
  }
  for (std::size_t i = 0; i < messages_; ++i) {
    if (states_[i].arrivals == 0) complete(i);  // a message without bytes
  }
  for (const int sender : senders_) {
    ++telling_;
    permit(sender, open_of(node_));
  }
}

std::uint32_t FabricWire::immediate_of_permission(std::size_t permission) const {
  const std::uint32_t number = static_cast<std::uint32_t>(first_permission() + permission);
  return WireImmediate{wire_, number, odd_call()}.value();
}

void FabricWire::permit(int peer, std::size_t permission) {
  network_.failover().tell(peer, immediate_of_permission(permission), *this,
                           permission_token(peer, permission));
}

// Message i + slots goes to the slot of message i.
bool FabricWire::tell_free_slots() {
  bool found = false;
  while (slots_ > 0 && next_taken_ + slots_ < messages_ && take(taken(next_taken_))) {
    const std::size_t next = slots_ + next_taken_++;
    ++telling_;
    permit(sender_of(next), free_slot(next));
    found = true;
  }
  return found;
}

bool FabricWire::may_go(std::size_t message) const {
  if (permitted_[open_of(states_[message].node)] <= calls_) return false;
  return slots_ == 0 || message < slots_ || permitted_[free_slot(message)] > calls_;
}

// A node that is late does not keep others waiting.
bool FabricWire::queue_messages() {
  bool found = false;
  for (std::size_t i = 0; unqueued_ > 0 && i < messages_; ++i) {
    MessageState& state = states_[i];
    if (state.queued || !may_go(i)) continue;
    if (state.staged && !take(go(i))) continue;
    state.queued = found = true;
    --unqueued_;
    for (std::size_t piece = 0; piece < state.pieces; ++piece) {
      waiting_.push_back(state.first + piece);
    }
    if (state.pieces == 0) sent(i);
  }
  return found;
}

// -1: none takes it now.
int FabricWire::rail_for(const Piece& piece) const {
  std::vector<int> rails = network_.rails().all_living();
  const int peer = states_[piece.message].node;
  rails.erase(std::remove_if(rails.begin(), rails.end(),
                             [&](int rail) { return !region_->reaches(peer, rail); }),
              rails.end());
  return dealer_->choose(rails, piece.bytes);
}

bool FabricWire::deal_pieces() {
  bool found = false;
  while (!waiting_.empty()) {
    const int rail = rail_for(pieces_[waiting_.front()]);
    if (rail < 0) return found;
    post(waiting_.front(), rail);
    waiting_.pop_front();
    found = true;
  }
  return found;
}

void FabricWire::post(std::size_t index, int rail) {
  Piece& piece = pieces_[index];
  const Region& source = *sources_[piece.source];
  const int peer = states_[piece.message].node;
  piece.rail = rail;
  dealer_->post(rail, piece.bytes);
  RailPost post;
  post.call = RailCall::write_imm;
  post.peer = peer;
  post.data = source.data() + piece.offset;
  post.bytes = piece.bytes;
  post.memory = source.memory(rail);
  post.immediate = immediate_of(piece);
  post.remote_offset = piece.remote_offset;
  post.remote = region_->remote(peer, rail);
  network_.traffic().queue(rail, post, *this, index, true);
}

void FabricWire::ended(std::uint64_t token) {
  if (token >= kPermissionToken) {
    --telling_;
    return;
  }
  dealer_->ended(pieces_[token].rail, pieces_[token].bytes);
  piece_ended(token);
}

void FabricWire::piece_ended(std::size_t index) {
  const std::size_t message = pieces_[index].message;
  if (--states_[message].to_end == 0) sent(message);
}

bool FabricWire::lost(int rail, const std::vector<std::uint64_t>& tokens) {
  for (const std::uint64_t token : tokens) {
    if (token >= kPermissionToken) {
      const int peer = static_cast<int>((token - kPermissionToken) >> kNodeShift);
      const std::size_t permission = token % (std::uint64_t{1} << kNodeShift);
      const auto resolved = [this, peer, permission](bool arrived) {
        arrived ? void(--telling_) : permit(peer, permission);
      };
      network_.failover().ask(peer, {immediate_of_permission(permission), resolved});
      continue;
    }
    const Piece& piece = pieces_[token];
    dealer_->lost(rail, piece.bytes);
    const auto resolved = [this, token](bool arrived) {
      arrived ? piece_ended(token) : waiting_.push_front(token);
    };
    network_.failover().ask(states_[piece.message].node, {immediate_of(piece), resolved});
  }
  return true;
}

void FabricWire::sent(std::size_t message) {
  if (states_[message].tells_gone) set(gone(message), 1);
  --sending_;
}

void FabricWire::complete(std::size_t message) {
  --coming_;
  set(come(message), 1);
}

// A rank may be one call ahead of a peer, never two: its next call needs the peer's messages.
void FabricWire::arrived(std::uint32_t number, bool odd_call) {
  if (number >= first_permission()) {
    ++permitted_.at(number - first_permission());
    return;
  }
  if (!active_ || odd_call != this->odd_call()) throw Error("a piece of another call has come");
  if (come_.at(number)) return;
  come_[number] = true;
  const std::size_t message = std::min(number / cut_->most(), messages_ - 1);
  if (--states_[message].to_come == 0) complete(message);
}

// A peer asks about its call under way: this rank's is the same one, or the next.
bool FabricWire::has_come(std::uint32_t number, bool odd_call) const {
  if (number >= first_permission()) {
    return (permitted_.at(number - first_permission()) % 2 == 1) != odd_call;
  }
  return odd_call != this->odd_call() || come_.at(number);
}

bool FabricWire::end_call() {
  const bool all_taken = slots_ == 0 || next_taken_ + slots_ >= messages_;
  if (sending_ == 0 && all_taken && telling_ == 0 && !done_told_) {
    done_told_ = true;
    set(word(1), 1);
  }
  if (!done_told_ || coming_ > 0) return false;
  active_ = false;
  ++calls_;
  return true;
}

void FabricWire::release_waits() noexcept { release_all(device_, words_, 1); }

}  // namespace duet
