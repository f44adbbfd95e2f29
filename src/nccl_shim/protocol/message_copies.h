// One rank's side of a communicator's messages: what ncclSend and ncclRecv move.
//
// The messages from one rank to another that are taken over are numbered; both know by the size of
// a message whether it is one of them. Of each message the side that comes second copies:
//
//   the receiver is first:                      the sender is first:
//   R's stream: set receivable  ... wait pushed     S's stream: set sendable  ... wait pulled
//   S's lane:   wait receivable, copy, set pushed   R's lane:   wait sendable, copy, set pulled
//
// Copies to and from memory of other processes take turns on one copy engine (pair_roles.h), so
// where two ranks send each other something in one group, each should push: a sender that also
// receives from the peer waits on the CPU for the receiver as long as its own push would take.
//
// The messages of a group are independent of each other and of the group's other calls. So each
// peer has two lanes of its own, for pushes and for pulls; all words that peers wait for are set
// before anything of the group is waited for; and the user's stream waits for the messages behind
// everything else of the group.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/failure.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/shared_memory.h"
#include "nccl_shim/protocol/staging_buffer.h"
#include "nccl_shim/protocol/transfers.h"

namespace duet::nccl_shim {

struct Message {
  enum class What { send, receive };
  What what = What::send;
  int peer = 0;  // if it is the own rank, a group's n-th send is for its n-th receive
  void* buffer = nullptr;
  std::size_t bytes = 0;  // at least 1
};

// Of a communicator of at most kMostMessageRanks. Not thread-safe, but as Transfers say. A rank
// waits on the CPU if it is kMessagesAhead messages ahead; its waits end where this rank ends the
// communicator (Failure::is_ending()) or the shared block is marked as broken.
class MessageCopies : public Transfers, OwnRank {
 public:
  MessageCopies(const OwnRank& rank, LentMemory& lent, BorrowedMemory& borrowed,
                double wait_seconds_per_byte, const Failure& failure);
  ~MessageCopies() override;
  MessageCopies(const MessageCopies&) = delete;
  MessageCopies& operator=(const MessageCopies&) = delete;

  // The messages of one group in three steps; ranks of one thread, in a group, all make a step
  // before one makes the next. publish() tells the peers. Throws OutOfMemory before any of them
  // knows, BadArgument where messages of this rank to itself do not match.
  void publish(const std::vector<Message>& messages, bool in_group);
  // Enqueues the copies that this rank makes, behind what `user` has; `user` waits for nothing.
  // Throws PeerFailed if a peer has aborted, BadArgument if both sides' sizes differ.
  void start(Stream user);
  // Behind it `user` has sent and received all.
  void finish(Stream user);

  bool is_begun() const override { return !begun_.empty() || !own_.empty(); }
  void give_up() override;
  bool waits_for(int peer) const override;
  void revoke_untaken() override;
  void end_own_waits() override;
  void record_ends() noexcept override;
  bool runs() const override;  // whether anything that start() has enqueued does
  bool may_touch(int peer) const override;

 private:
  // Who copies: the sender pushes, or the receiver pulls. `waiting`: a sender that is first, and
  // may wait; `revoked`: the peer has aborted.
  enum class Way { pushed, pulled, waiting, revoked };
  struct Begun {
    Message message;
    std::uint64_t number;  // among those of its pair and direction
    char* lent;            // the buffer, or what stands in for it
    BufferPlace place;
    Way way;
    std::uint32_t turn;  // what its way's two words come to
  };
  struct Lane {
    Stream stream = nullptr;
    std::unique_ptr<StreamEvent> end;
    bool is_used = false;  // in this group
  };
  // Of messages to or from a peer: how many there were, and how many of them were pushed and
  // pulled, to which the two words of each way count. Atomic because waits_for() and
  // end_own_waits() read them.
  struct Counts {
    std::uint64_t number = 0;
    std::atomic<std::uint32_t> pushed{0}, pulled{0};
  };
  using PeerCounts = std::array<Counts, kMostMessageRanks>;
  using OwnPairs = std::vector<std::pair<Message, Message>>;  // to itself: a send and its receive
  // Of a peer's words for this rank: the values that it has set last, or will have set when its
  // copies have ended.
  struct Share {
    std::uint32_t pushed = 0, pulled = 0;
  };

  OwnPairs own_pairs(const std::vector<Message>& messages) const;
  std::size_t place(Begun& begun);
  void stage(std::vector<Begun>& placed, Message::What what, char* staging);
  void wait_for_room(const Begun& begun) const;
  void record(const Begun& begun);
  Way take(const Begun& begun, bool waits) const;
  double wait_seconds(const Begun& begun, const std::vector<Begun>& of_group) const;
  void settle();
  void wait_for_late_peers();
  void end_group();
  void check(const Begun& begun) const;
  void signal_ready(Stream user);
  bool peer_copies(int peer, Message::What what) const;
  void copy(const Begun& begun);
  Lane& lane(const Begun& begun);
  std::vector<Lane*> used_lanes();
  const MessageRecord& record_of_peer(const Begun& begun) const;
  PairState& state(const Begun& begun) const;
  Counts& counts(const Begun& begun);
  bool is_copied_here(const Begun& begun) const;
  std::uint32_t revoked(int source, int destination, std::uint64_t last) const;
  static bool sends(const Begun& begun) { return begun.message.what == Message::What::send; }

  MessageWords& words(int from, int to) const { return shared_.words.messages[from][to]; }

  LentMemory& lent_;
  BorrowedMemory& borrowed_;
  const double wait_seconds_per_byte_;
  const Failure& failure_;

  StagingBuffer send_staging_, receive_staging_;
  std::unique_ptr<StreamEvent> ready_;
  std::array<Lane, kMostMessageRanks> push_lanes_, pull_lanes_;
  PeerCounts to_, from_;
  std::vector<Begun> begun_;  // receives, then sends
  OwnPairs own_;
  bool is_settled_ = false;
  std::array<Share, kMostMessageRanks> seen_{}, expected_{};
};

}  // namespace duet::nccl_shim
