#include "nccl_shim/groups.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "nccl_shim/late_creations.h"
#include "nccl_shim/log.h"
#include "nccl_shim/ranges.h"

namespace duet::nccl_shim {
namespace {

template <typename What>
struct Queued {
  std::shared_ptr<Communicator> communicator;
  What call;
  ShimDevice::Stream stream;
  std::function<nccl::Result()> forward;
};
using QueuedCall = Queued<Call>;
using QueuedMessage = Queued<Message>;

struct QueuedOrder {
  std::shared_ptr<Communicator> communicator;
  ShimDevice::Stream stream;
  nccl::Comm handle;
};

struct Group {
  int depth = 0;
  nccl::Result failed = nccl::kSuccess;  // of a call in it
  std::vector<QueuedCall> calls;
  std::vector<QueuedMessage> messages;
  std::vector<HeldMessage> held;
  std::vector<QueuedOrder> orders;
  std::vector<std::unique_ptr<PendingCreation>> creations;
  std::vector<Announcement> announcements;
  std::vector<std::shared_ptr<const void>> kept;

  bool is_empty() const {
    return failed == nccl::kSuccess && calls.empty() && messages.empty() && held.empty() &&
           orders.empty() && creations.empty() && announcements.empty() && kept.empty();
  }
};

Group& group() {
  static thread_local Group of_thread;
  return of_thread;
}

bool is_error(nccl::Result result) {
  return result != nccl::kSuccess && result != nccl::kInProgress;
}

using Streams = std::map<Communicator*, std::vector<ShimDevice::Stream>>;

void add_stream(std::vector<ShimDevice::Stream>& streams, ShimDevice::Stream stream) {
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

template <typename What>
Streams streams_of(const std::vector<Queued<What>>& calls) {
  Streams streams;
  for (const auto& each : calls) add_stream(streams[each.communicator.get()], each.stream);
  return streams;
}

using Round = std::vector<const QueuedCall*>;

// The first call of each device, then the second, and so on: calls of one device come in their
// order, and ranks of one communicator come to a call in one round, whichever was called for first.
std::vector<Round> rounds_of(const std::vector<QueuedCall>& calls) {
  std::map<std::uint64_t, std::size_t> made;  // by device
  std::vector<Round> rounds;
  for (const QueuedCall& each : calls) {
    const std::size_t round = made[each.communicator->device->identity()]++;
    if (round == rounds.size()) rounds.emplace_back();
    rounds[round].push_back(&each);
  }
  return rounds;
}

// Does it for all, whatever becomes of one. Throws the first error.
void for_all(const std::vector<PairCopies*>& begun, void (PairCopies::*step)()) {
  std::exception_ptr error;
  for (PairCopies* each : begun) {
    try {
      (each->*step)();
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
}

// All begin before the first of them finishes, since they may be of ranks of one communicator.
void enqueue_round(const Round& round) {
  std::vector<PairCopies*> begun;
  std::exception_ptr error;
  for (const QueuedCall* each : round) {
    PairCopies* const copies = each->communicator->copies.get();
    try {
      copies->begin(each->call, each->stream);
      begun.push_back(copies);
    } catch (...) {
      error = std::current_exception();
      break;
    }
  }
  try {
    for_all(begun, &PairCopies::finish);
  } catch (...) {
    if (error == nullptr) throw;
  }
  if (error != nullptr) std::rethrow_exception(error);
}

// Before the real end. A rank that creates several communicators in a group goes on when all ranks
// have called for all of them, and may be waited for before that by one that creates them one by
// one.
void tell_what_is_together(Group& ended) {
  std::set<std::string> together;
  for (const auto& each : ended.creations) {
    if (each->blocking) together.insert(each->name);
  }
  for (const Announcement& each : ended.announcements) {
    if (each.refuse) together.insert(each.creation);
  }
  if (together.size() < 2) return;
  std::string names;
  for (const std::string& each : together) names += each + "\n";
  const std::uint64_t hash = hash_bytes(names.data(), names.size(), 0xcbf29ce484222325u);
  for (const auto& each : ended.creations) {
    if (each->blocking) each->creation->set_together(hash);
  }
  std::vector<Announcement> left;
  for (Announcement& each : ended.announcements) {
    if (each.refuse) {
      each.refuse();
    } else {
      left.push_back(std::move(each));
    }
  }
  ended.announcements = std::move(left);
}

void enqueue_calls(const std::vector<QueuedCall>& calls) {
  const Streams streams = streams_of(calls);
  for (const auto& [communicator, of_one] : streams) communicator->copies->fork(of_one);
  for (const Round& each : rounds_of(calls)) enqueue_round(each);
  for (const auto& [communicator, of_one] : streams) communicator->copies->join(of_one);
}

// The messages of a group, from its end to behind its real end. Those of a communicator are all
// enqueued on the first stream of theirs, and what else the group has of that communicator is on
// streams that wait for each other with it, before and behind the group.
class GroupMessages {
 public:
  explicit GroupMessages(const Group& group) : streams_(streams_of(group.messages)) {
    add_streams(group.calls);
    add_streams(group.orders);
    std::map<std::tuple<Communicator*, int, Message::What>, std::size_t> made;
    for (const QueuedMessage& each : group.messages) {
      Communicator* const communicator = each.communicator.get();
      const std::size_t index = made[{communicator, each.call.peer, each.call.what}]++;
      const std::size_t part = index / (kMessagesAhead / 2);
      if (part == parts_.size()) parts_.emplace_back();
      parts_[part][communicator].push_back(each.call);
    }
  }

  // Throws the first error; finish() is to be called all the same. What has been sent by then
  // cannot be taken back, so an error is one of all the communicators.
  void start() {
    for (const auto& [communicator, of_one] : streams_) communicator->copies->fork(of_one);
    try {
      for (const auto& each : parts_) {
        finish_started();
        start(each);
      }
    } catch (const std::exception& error) {
      for (const auto& each : streams_) each.first->copies->break_with(error.what());
      throw;
    }
  }

  void finish() {
    std::exception_ptr error;
    try {
      finish_started();
    } catch (...) {
      error = std::current_exception();
    }
    for (const auto& [communicator, of_one] : streams_) communicator->copies->join(of_one);
    if (error != nullptr) std::rethrow_exception(error);
  }

 private:
  using Part = std::map<Communicator*, std::vector<Message>>;

  // Not those in captures, where nothing of messages can be.
  template <typename CallOrOrder>
  void add_streams(const std::vector<CallOrOrder>& queued) {
    for (const CallOrOrder& each : queued) {
      const auto of_one = streams_.find(each.communicator.get());
      if (of_one == streams_.end()) continue;
      if (each.communicator->device->capture(each.stream) != kNotCaptured) continue;
      add_stream(of_one->second, each.stream);
    }
  }

  // All begin before the first of them starts, since they may be of ranks of one communicator.
  void start(const Part& part) {
    std::exception_ptr error;
    for (const auto& [communicator, messages] : part) {
      try {
        communicator->copies->begin_messages(messages, streams_.at(communicator).front());
        started_.push_back(communicator->copies.get());
      } catch (...) {
        error = std::current_exception();
        break;
      }
    }
    for_all(started_, &PairCopies::start_messages);
    if (error != nullptr) std::rethrow_exception(error);
  }

  void finish_started() { for_all(std::exchange(started_, {}), &PairCopies::finish_messages); }

  Streams streams_;
  // So many of each direction of a pair at a time that ranks can be ahead of each other.
  std::vector<Part> parts_;
  std::vector<PairCopies*> started_;
};

// NCCL enqueues what nonblocking communicators have in a group after the group's end.
void wait_until_enqueued(const std::vector<QueuedOrder>& orders) {
  for (const QueuedOrder& each : orders) {
    for (nccl::Result state = nccl::kInProgress;
         ask_state(each.handle, &state) == nccl::kSuccess && state == nccl::kInProgress;) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

}  // namespace

bool in_group() { return group().depth > 0; }

void begin_group() { ++group().depth; }

void queue_call(std::shared_ptr<Communicator> communicator, const Call& call,
                ShimDevice::Stream stream, std::function<nccl::Result()> forward) {
  group().calls.push_back({std::move(communicator), call, stream, std::move(forward)});
}

void queue_call(std::shared_ptr<Communicator> communicator, const Message& message,
                ShimDevice::Stream stream, std::function<nccl::Result()> forward) {
  group().messages.push_back({std::move(communicator), message, stream, std::move(forward)});
}

void hold_message(HeldMessage held) { group().held.push_back(std::move(held)); }

void queue_order(std::shared_ptr<Communicator> communicator, ShimDevice::Stream stream,
                 nccl::Comm handle) {
  std::vector<QueuedOrder>& orders = group().orders;
  const bool is_known = !orders.empty() && orders.back().communicator == communicator &&
                        orders.back().stream == stream;
  if (!is_known) orders.push_back({std::move(communicator), stream, handle});
}

void queue_creation(std::unique_ptr<PendingCreation> pending) {
  group().creations.push_back(std::move(pending));
}

void queue_announcement(Announcement announcement) {
  group().announcements.push_back(std::move(announcement));
}

nccl::Result note_result(nccl::Result result) {
  if (in_group() && is_error(result)) group().failed = result;
  return result;
}

void keep_to_end(std::shared_ptr<const void> what) { group().kept.push_back(std::move(what)); }

nccl::Result end_group(const std::function<nccl::Result()>& real_end) {
  Group& open = group();
  if (open.depth > 1) {
    --open.depth;
    return real_end();
  }
  make_held(std::exchange(open.held, {}));
  if (open.is_empty()) {
    open.depth = 0;
    return real_end();
  }
  Group ended = std::exchange(open, Group{});
  if (ended.failed != nccl::kSuccess) {
    const nccl::Result real = real_end();
    return is_error(real) ? real : ended.failed;
  }
  const std::size_t taken = ended.calls.size() + ended.messages.size();
  std::optional<GroupEndRange> range;
  if (taken > 0) range.emplace(taken);
  GroupMessages messages(ended);
  const nccl::Result own = result_of([&] {
    messages.start();
    enqueue_calls(ended.calls);
    for (const QueuedOrder& each : ended.orders) {
      each.communicator->copies->order_other_work(each.stream);
    }
  });
  tell_what_is_together(ended);
  const nccl::Result real = real_end();
  if (real == nccl::kInProgress && !ended.messages.empty()) wait_until_enqueued(ended.orders);
  const nccl::Result received = result_of([&] { messages.finish(); });
  if (own != nccl::kSuccess) return own;
  if (is_error(real)) return real;
  if (received != nccl::kSuccess) return received;
  const nccl::Result ordered = result_of([&] {
    for (const QueuedOrder& each : ended.orders) {
      each.communicator->copies->end_other_work(each.stream);
    }
  });
  if (ordered != nccl::kSuccess) return ordered;
  for (const Announcement& each : ended.announcements) {
    const nccl::Result result = each.announce(ended.creations);
    if (result != nccl::kSuccess) return result;
  }
  return enter_created(std::move(ended.creations), real);
}

nccl::Result end_group_by_forwarding(const std::function<nccl::Result()>& real_end) {
  if (group().depth > 1) return end_group(real_end);
  const Group ended = std::exchange(group(), Group{});
  nccl::Result forwarded = ended.failed;
  for (const QueuedCall& each : ended.calls) {
    if (forwarded == nccl::kSuccess) forwarded = each.forward();
  }
  for (const QueuedMessage& each : ended.messages) {
    if (forwarded == nccl::kSuccess) forwarded = each.forward();
  }
  for (const HeldMessage& each : ended.held) {
    if (forwarded == nccl::kSuccess) forwarded = each.forward();
  }
  const nccl::Result real = real_end();
  return forwarded == nccl::kSuccess ? real : forwarded;
}

nccl::Result result_of(const std::function<void()>& what) {
  try {
    what();
    return nccl::kSuccess;
  } catch (const PeerFailed& error) {
    log_error(error.what());
    return nccl::kRemoteError;
  } catch (const OutOfMemory& error) {
    log_error(error.what());
    return nccl::kUnhandledDeviceError;
  } catch (const BadArgument& error) {
    log_error(error.what());
    return nccl::kInvalidUsage;
  } catch (const Error& error) {
    log_error(error.what());
    return nccl::kSystemError;
  }
}

}  // namespace duet::nccl_shim
