// One rank's side of a communicator whose calls are made by copies between each pair of ranks:
//
//   CallCopies          a call in two steps
//     PairRoles           who makes the copies of each pair
//     BufferCopies        copies between ranks' buffers
//     Slots               what goes through slots, to be reduced, or where buffers are not mapped
//     ExchangeCalls       calls by kernels that exchange packets or chunks
//   MessageCopies       the messages of a group in three steps
//   StreamOrder         which stream waits for which
//   SegmentAgreement    whether segments are lent
//   Failure, Ending     whether the communicator is whole, and how it ends
//
// A rank waits on the CPU for a peer as PairRoles and MessageCopies say, and if it is kCallsAhead
// calls, or kMessagesAhead messages, ahead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/call_copies.h"
#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/ending.h"
#include "nccl_shim/protocol/failure.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/message_copies.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/segment_agreement.h"
#include "nccl_shim/protocol/shared_memory.h"
#include "nccl_shim/protocol/stream_order.h"

namespace duet::nccl_shim {

class PairCopies : OwnRank {
 public:
  using Stream = ShimDevice::Stream;

  // After all ranks have agreed (creation.h).
  PairCopies(ShimDevice& device, std::shared_ptr<SharedMemory> shared, int rank, int ranks,
             const Method& method);
  // Waits until nothing of this communicator runs on this rank, unless a peer is gone; then as
  // abort(). To be ended only where end() is true.
  ~PairCopies();
  PairCopies(const PairCopies&) = delete;
  PairCopies& operator=(const PairCopies&) = delete;

  // Maps the slots of all peers, which have made their PairCopies. Throws Error.
  void map_slots() { calls_.memory().map(); }
  // The same for whether buffers of several segments are lent: what all ranks have lent as a test
  // is mapped and read. Then, when all ranks have tried that, they agree.
  void try_segments() { segments_.try_peers(); }
  void agree_on_segments() { segments_.agree(); }
  // Why they are not, where the device has segments.
  const std::string& why_no_segments() const { return segments_.why_not(); }

  // Behind what `user` has, and behind this communicator's calls on other streams. Returns at once.
  // Throws PeerFailed if the communicator is broken, BadArgument if ranks make different calls, but
  // by kernels, which then wait for ever; any error breaks the communicator, but OutOfMemory
  // where error() stays empty: such a call may be made again. Thread-safe.
  // `user` may be captured if the call is by packets or chunks: each launch of the graph makes the
  // call. Then all ranks launch their graphs and make other calls in one order.
  void enqueue(const Call& call, Stream user);
  // The same in two steps of one thread, for calls of one group: where ranks of this process have
  // all begun before the first finishes, each pushes its part, and none waits for another. Behind
  // begin() comes finish(), unless it has thrown, and no call of another thread between them.
  void begin(const Call& call, Stream user);
  void finish();

  // A message alone, and the messages of a group, as calls. Those of a group are enqueued in the
  // three steps of MessageCopies: calls and other work of the same group come between the second
  // step and the third. Only where can_send().
  void enqueue_message(const Message& message, Stream user);
  void begin_messages(const std::vector<Message>& messages, Stream user);
  void start_messages();
  void finish_messages();

  // Before the caller gives `user` work of the same communicator that is not enqueued here: such
  // work begins behind the calls before it, and the next call behind such work. Where `user` is
  // captured that holds in the same capture.
  void order_other_work(Stream user);
  // Behind that work, by the same thread.
  void end_other_work(Stream user);

  // For calls of one group on several streams: what is enqueued next on streams[0] is behind all of
  // them, and after join() they all are behind the calls.
  void fork(const std::vector<Stream>& streams) { order_.fork(streams); }
  void join(const std::vector<Stream>& streams);

  // Waits on the CPU for all calls so far. False if the communicator broke before that.
  bool drain() { return ending_.drain(); }
  bool is_done() { return ending_.is_done(); }  // whether all calls so far are

  // Ends what waits for other ranks, on this rank's streams and CPUs, and makes the communicator
  // unusable for all ranks: their streams stop before the end of a call that may not be whole.
  // Returns when nothing of this rank runs and no peer writes its buffers any more; after `seconds`
  // with a line in warning() if that is not so, and watch() goes on to end what waits. May be
  // called from any thread, at any time. Where all calls of this rank are done nobody else's lacks
  // anything: then only those fail that wait for further ones.
  void abort(double seconds) { ending_.abort(seconds); }
  // The first of it, which does not wait: no call ends any more that may not be whole.
  void begin_abort() { ending_.begin_abort(); }
  // Makes the communicator unusable for all ranks, as an error does; what is enqueued stays.
  void break_with(const std::string& why) { failure_.break_with(why); }
  // Waits as the destructor does. False if something may still use what this object has: then it
  // must not be destroyed before a later call, which waits for 10 ms, has given true. Until then
  // it is to be watched.
  bool end() { return ending_.end(calls_.memory().exists()); }

  // Empty, or why the communicator is broken.
  std::string error() const { return failure_.error(); }
  std::string warning() const { return failure_.warning(); }

  // This rank will not announce itself (creation.h) in the communicator of this hash, which comes
  // of this one.
  void refuse_part(std::uint64_t part);
  bool is_part_refused(std::uint64_t part) const;  // by any rank

  // What a guard thread does now and then: notices that a rank is gone which this one waits for, or
  // that another broke the communicator; opens what others have closed again where an abort gave up
  // waiting. No call to the device.
  void watch() { ending_.watch(); }

  int ranks() const { return ranks_; }
  bool can_reduce() const { return method_.reduces; }
  bool can_send() const { return messages_ != nullptr; }  // and receive
  bool is_staged() const { return method_.staged; }
  std::size_t most_by_packets() const { return method_.most_by_packets; }
  bool by_packets(const Call& call) const { return calls_.by_packets(call); }
  bool has_chunks() const { return method_.has_chunks(); }
  // `captured`: whether its stream is.
  bool by_chunks(const Call& call, bool captured) const { return calls_.by_chunks(call, captured); }
  std::size_t lent() const { return lent_.count(); }  // for tests, while nothing is enqueued

 private:
  // Does `what`, which enqueues on `user`, behind the calls of `tail`, or enqueues nothing if that
  // is null. An error of it breaks the communicator.
  void or_break(StreamOrder::Tail* tail, Stream user, const std::function<void()>& what);
  void begin_locked(const Call& call, Stream user, bool in_group);
  void finish_locked();
  void begin_messages_locked(const std::vector<Message>& messages, Stream user, bool in_group);
  void start_messages_locked();
  void finish_messages_locked();
  std::vector<Transfers*> transfers();

  // Streams may use the words of the shared block as long as it exists. At its end, when nothing of
  // this rank runs any more, it tells the peers that.
  class StreamWords {
   public:
    StreamWords(ShimDevice& device, SharedBlock& shared, int rank);
    ~StreamWords();
    StreamWords(const StreamWords&) = delete;
    StreamWords& operator=(const StreamWords&) = delete;

   private:
    ShimDevice& device_;
    SharedBlock& shared_;
    const int rank_;
  };

  const std::shared_ptr<SharedMemory> block_;
  const StreamWords words_;  // ends behind all that copies, and all memory
  const Method method_;
  std::atomic<std::size_t> refusals_{0};  // so far
  Failure failure_;

  // Held over enqueuing, drain() and the end. Without it: what Transfers and Ending allow, fork(),
  // and what does not change: by_packets(), by_chunks(), can_send(), whether memory exists.
  // Ending's abort_mutex_ is locked before it, Failure's behind it.
  std::mutex mutex_;
  LentMemory lent_;
  BorrowedMemory borrowed_;
  StreamOrder order_;
  CallCopies calls_;
  Stream calls_user_ = nullptr;  // of the call that has begun, and its tail
  StreamOrder::Tail* calls_tail_ = nullptr;
  const std::unique_ptr<MessageCopies> messages_;  // null: none are sent here
  Stream messages_user_ = nullptr;
  SegmentAgreement segments_;
  Ending ending_;
};

}  // namespace duet::nccl_shim
