#include "nccl_shim/protocol/pair_copies.h"

#include <optional>
#include <utility>

#include "core/error.h"

namespace duet::nccl_shim {

PairCopies::PairCopies(ShimDevice& device, std::shared_ptr<SharedMemory> shared, int rank,
                       int ranks, const Method& method)
    : OwnRank(device, **shared, rank, ranks),
      block_(std::move(shared)),
      words_(device_, shared_, rank_),
      method_(method),
      failure_(*this),
      lent_(device, shared_, rank, ranks),
      borrowed_(device, shared_, rank),
      order_(device, method.most_by_packets > 0 || method.has_chunks()),
      calls_(*this, method, lent_, borrowed_, failure_),
      messages_(ranks > kMostMessageRanks || method.staged
                    ? nullptr
                    : std::make_unique<MessageCopies>(OwnRank(*this), lent_, borrowed_,
                                                      method.wait_seconds_per_byte, failure_)),
      segments_(*this, lent_, !method.staged),
      ending_(*this, failure_, order_, transfers(), mutex_) {}

PairCopies::~PairCopies() { end(); }

PairCopies::StreamWords::StreamWords(ShimDevice& device, SharedBlock& shared, int rank)
    : device_(device), shared_(shared), rank_(rank) {
  device_.share_words(&shared_.words, sizeof(SharedBlock::Words));
}

PairCopies::StreamWords::~StreamWords() {
  shared_.ranks[rank_].drained.store(1, std::memory_order_release);
  device_.unshare_words(&shared_.words);
}

// Messages come first: an abort takes them back before calls, and waits_for() of calls, which may
// ask the device, comes last.
std::vector<Transfers*> PairCopies::transfers() {
  if (messages_ == nullptr) return {&calls_};
  return {messages_.get(), &calls_};
}

void PairCopies::refuse_part(std::uint64_t part) {
  shared_.refusals[rank_][refusals_++ % kRefusals] = part;
}

bool PairCopies::is_part_refused(std::uint64_t part) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    for (const auto& each : shared_.refusals[rank]) {
      if (each == part) return true;
    }
  }
  return false;
}

void PairCopies::or_break(StreamOrder::Tail* tail, Stream user, const std::function<void()>& what) {
  bool follows = false;
  try {
    if (tail != nullptr) order_.follow(*tail, user);
    follows = tail == &order_.last();
    what();
  } catch (const Error& error) {
    break_with(error.what());
    ending_.give_up();
    ending_.record_ends();
    // Behind as much of the call as was enqueued. A stream that does not follow the calls before it
    // may be done while they still run; what is captured does not run.
    if (follows && device_.capture(user) == kNotCaptured) order_.record_part(user);
    throw;
  }
}

void PairCopies::enqueue(const Call& call, Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  begin_locked(call, user, /*in_group=*/false);
  finish_locked();
}

void PairCopies::begin(const Call& call, Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  begin_locked(call, user, /*in_group=*/true);
}

void PairCopies::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  finish_locked();
}

void PairCopies::begin_locked(const Call& call, Stream user, bool in_group) {
  std::optional<OutOfMemory> no_memory;
  calls_user_ = user;
  or_break(nullptr, user, [&] {
    failure_.check_whole();
    const bool captured = has_chunks() && device_.capture(user) != kNotCaptured;
    try {
      calls_.begin(call, captured, in_group);
      calls_tail_ = calls_.is_by_kernel() ? &order_.tail_of(user) : &order_.last();
    } catch (const OutOfMemory& error) {
      no_memory = error;
    }
  });
  if (no_memory) throw *no_memory;
}

void PairCopies::finish_locked() {
  if (!calls_.is_begun()) throw PeerFailed("aborted in a group");
  or_break(calls_tail_, calls_user_, [this] {
    calls_.enqueue(calls_user_);
    order_.become_last(*calls_tail_, calls_user_);
  });
  calls_.end();
}

void PairCopies::enqueue_message(const Message& message, Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  begin_messages_locked({message}, user, /*in_group=*/false);
  start_messages_locked();
  finish_messages_locked();
}

void PairCopies::begin_messages(const std::vector<Message>& messages, Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  begin_messages_locked(messages, user, /*in_group=*/true);
}

void PairCopies::start_messages() {
  const std::lock_guard<std::mutex> lock(mutex_);
  start_messages_locked();
}

void PairCopies::finish_messages() {
  const std::lock_guard<std::mutex> lock(mutex_);
  finish_messages_locked();
}

void PairCopies::begin_messages_locked(const std::vector<Message>& messages, Stream user,
                                       bool in_group) {
  std::optional<OutOfMemory> no_memory;
  messages_user_ = user;
  or_break(nullptr, user, [&] {
    failure_.check_whole();
    try {
      messages_->publish(messages, in_group);
    } catch (const OutOfMemory& error) {
      no_memory = error;
    }
  });
  if (no_memory) throw *no_memory;
}

// `messages_` has none where another thread has aborted in between.
void PairCopies::start_messages_locked() {
  if (!messages_->is_begun()) throw PeerFailed("aborted in a group");
  or_break(&order_.last(), messages_user_, [this] { messages_->start(messages_user_); });
}

void PairCopies::finish_messages_locked() {
  if (!messages_->is_begun()) throw PeerFailed("aborted in a group");
  or_break(&order_.last(), messages_user_, [this] {
    messages_->finish(messages_user_);
    order_.become_last(order_.last(), messages_user_);
  });
}

void PairCopies::order_other_work(Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  order_.order_other_work(user);
}

// Another thread, which may make the next call, cannot name this thread's stream.
void PairCopies::end_other_work(Stream user) {
  if (!is_of_thread(user)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  order_.end_other_work(user);
}

void PairCopies::join(const std::vector<Stream>& streams) {
  const std::lock_guard<std::mutex> lock(mutex_);
  order_.join(streams);
}

}  // namespace duet::nccl_shim
