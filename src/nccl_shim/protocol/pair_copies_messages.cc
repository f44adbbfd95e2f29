// Messages of PairCopies: in order with its calls and with other work, and broken with them.
#include "core/error.h"
#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim {

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
    check_whole();
    try {
      messages_->publish(messages, in_group);
    } catch (const OutOfMemory& error) {
      no_memory = error;
    }
  });
  if (no_memory) throw *no_memory;
}

// `messages_` is empty of them where another thread has aborted in between.
void PairCopies::start_messages_locked() {
  if (!messages_->is_begun()) throw PeerFailed("aborted in a group");
  or_break(&last_, messages_user_, [&] { messages_->start(messages_user_); });
}

void PairCopies::finish_messages_locked() {
  if (!messages_->is_begun()) throw PeerFailed("aborted in a group");
  or_break(&last_, messages_user_, [&] {
    messages_->finish(messages_user_);
    become_last(last_, messages_user_);
  });
}

}  // namespace duet::nccl_shim
