// One rank's side of a communicator whose calls are made by copies between each pair of ranks.
//
// Of each pair, the rank that comes second to a call knows all four buffers. If the first still
// waits for it, both know them, and each pushes its part; if not, the second makes both copies:
//
//   first  F:  record of buffers --> pair's state
//              user's stream: set ready ...................... wait pushed, pulled, gate
//   second S:  finds F's record
//              push lane:     wait ready, copy S.send -> F.receive, set pushed
//              pull lane:     wait ready, copy F.send -> S.receive, set pulled
//              user's stream: ... joins both lanes ............ wait gate
//
// Copies to and from memory of other processes take turns on one copy engine: on two H100 an
// all_gather of 1 GiB takes 2.8 ms if the second makes both, and 1.5 ms if each pushes. So the
// first waits on the CPU for as long as its own push would take (wait_seconds_per_byte): no longer
// than it may gain. It waits for nothing else, unless it is kCallsAhead calls ahead. Ranks of which
// one thread makes the calls, in a group, need no such wait: all come to a call before one goes on.
// Who is first may change with every call and pair. Copies of a call are in rotated order on all
// ranks: rank r pushes to r + i and pulls from r - i in step i.
//
// A reduce_scatter goes through slots, which every rank has lent at creation, two for each peer.
// Its parts are cut into pieces of piece_bytes at most, which communicators count:
//
//   sender s                                receiver r
//   a lane: wait freed >= piece - 2
//           copy into r's slot piece % 2
//           set arrived = piece   -->   user's stream: wait arrived of all peers
//                                                      reduce own part and slots, in rank order
//   ...                           <--                  set freed = piece for all peers
//
// An all_reduce is such a reduce_scatter into the receive buffer, and then copies as above of what
// each rank has reduced: `ready` is set behind the reduction. In place nothing is written too
// early: a rank has reduced its part when all peers' data of that part have left their buffers.
//
// A communicator that is staged makes all calls so, of other kinds with a copy out of the slots in
// the place of the reduction: no rank maps a user's buffer of another. Pieces are counted alike by
// all pairs, also by those of which one sends the other nothing.
//
// Small calls, but broadcasts, are exchanges of packets on the user's stream, for which ranks need
// neither each other's buffers nor roles. Each rank has two packet buffers for each peer, which
// calls use in turn: a rank that has got the peers' packets of a call knows that they have taken
// those of the call before it. Reductions are made of what has come.
//
// Such a call may be captured into a graph, since it has nothing that only this launch of it has:
// the device counts calls. The order of graphs' launches and of other calls is kept by events:
//
//   a graph:  wait last call | packets ... packets |        a call:  wait last call
//                                          \-> record last call          ...
//                                                                   record last call
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/device.h"
#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/message_copies.h"
#include "nccl_shim/protocol/peer_process.h"
#include "nccl_shim/protocol/shared_memory.h"
#include "nccl_shim/protocol/staging_buffer.h"

namespace duet::nccl_shim {

// How a communicator's calls are made: alike on all ranks, but for the last.
struct Method {
  // Of slots, a multiple of 128; they take 2 * (ranks - 1) * piece_bytes of each device's memory.
  // 0: no slots, and neither of the next two.
  std::size_t piece_bytes = 0;
  bool reduces = false;  // calls may be reductions
  bool staged = false;   // everything else goes through slots
  // Calls of so many bytes (all_bytes()) are exchanges of packets; a multiple of 128. They take 5 *
  // (ranks - 1) as many bytes of each device's memory, and 64. 0: none are.
  std::size_t most_by_packets = 0;
  // How long the first of a pair waits on the CPU for the other to come to a call in which each
  // sends the other something, for each byte that it sends.
  double wait_seconds_per_byte = 0;
};

class PairCopies {
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
  void map_slots();
  // The same for whether buffers of several segments are lent: what all ranks have lent as a test
  // is mapped and read. Then, when all ranks have tried that, they agree.
  void try_segments();
  void agree_on_segments();
  // Why they are not, where the device has segments.
  const std::string& why_no_segments() const { return why_no_segments_; }

  // Behind what `user` has, and behind this communicator's calls on other streams. Returns at once.
  // Throws PeerFailed if the communicator is broken, BadArgument if ranks make different calls, but
  // by packets, which then wait for ever; any error breaks the communicator, but OutOfMemory
  // where error() stays empty: such a call may be made again. Thread-safe.
  // `user` may be captured if the call is by packets: each launch of the graph makes the call. Then
  // all ranks launch their graphs and make other calls in one order.
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
  void fork(const std::vector<Stream>& streams);
  void join(const std::vector<Stream>& streams);

  // Waits on the CPU for all calls so far. False if the communicator broke before that.
  bool drain();
  bool is_done();  // whether all calls so far are

  // Ends what waits for other ranks, on this rank's streams and CPUs, and makes the communicator
  // unusable for all ranks: their streams stop before the end of a call that may not be whole.
  // Returns when nothing of this rank runs and no peer writes its buffers any more; after `seconds`
  // with a line in warning() if that is not so, and watch() goes on to end what waits. May be
  // called from any thread, at any time. Where all calls of this rank are done nobody else's lacks
  // anything: then only those fail that wait for further ones.
  void abort(double seconds);
  // The first of it, which does not wait: no call ends any more that may not be whole.
  void begin_abort();
  // Makes the communicator unusable for all ranks, as an error does; what is enqueued stays.
  void break_with(const std::string& why);
  // Waits as the destructor does. False if something may still use what this object has: then it
  // must not be destroyed before a later call, which waits for 10 ms, has given true. Until then
  // it is to be watched.
  bool end();

  // Empty, or why the communicator is broken.
  std::string error() const;
  std::string warning() const;

  // This rank will not announce itself (creation.h) in the communicator of this hash, which comes
  // of this one.
  void refuse_part(std::uint64_t part);
  bool is_part_refused(std::uint64_t part) const;  // by any rank

  // What a guard thread does now and then: notices that a rank is gone which this one waits for, or
  // that another broke the communicator; opens what others have closed again where an abort gave up
  // waiting. No call to the device.
  void watch();

  int ranks() const { return ranks_; }
  bool can_reduce() const { return method_.reduces; }
  bool can_send() const { return messages_.has_value(); }  // and receive
  bool is_staged() const { return method_.staged; }
  std::size_t most_by_packets() const { return method_.most_by_packets; }
  bool by_packets(const Call& call) const;
  std::size_t lent() const { return lent_.count(); }

 private:
  // How often a rank a has set, or will set, its words for a rank b by all calls so far. Atomic
  // because watch() reads them.
  struct Sequence {
    std::atomic<std::uint32_t> ready{0}, pushed{0}, pulled{0};
  };
  // This rank's buffers in a call, or the staging buffers in their place; offsets of parts count
  // from them.
  struct Buffers {
    const char* send;
    char* receive;
    bool send_staged, receive_staged;
  };
  // What a rank is in a call for a peer: nothing where there is nothing to copy, or the peer has
  // aborted; `sharing` where each pushes its part.
  enum class Role { none, first, second, sharing };
  using Roles = std::array<Role, kMostRanks>;

  // What came last of this communicator's, of all that is not captured or of one capture. `call`:
  // behind the last call that was enqueued here.
  struct Tail {
    enum class Last { none, call, other, recorded };
    std::unique_ptr<StreamEvent> call, other;  // `other`: behind other work, when `recorded`
    std::uint64_t capture = kNotCaptured;
    Last last = Last::none;
    Stream stream = nullptr;
    std::uint64_t stream_id = 0;
    std::unique_ptr<LaunchRecord> record;  // of a capture with calls: records last_.call
  };

  // A call behind begin(). `settled`: roles do not change any more, and its words are counted.
  struct Begun {
    Call call;
    Stream user;
    Tail& tail;
    std::uint64_t number;
    Buffers mine;
    Roles roles;
    bool settled;
  };

  static void pause();  // of a loop that waits
  // Does `what`, which enqueues on `user`, behind the calls of `tail`, or enqueues nothing if that
  // is null. An error of it breaks the communicator.
  void or_break(Tail* tail, Stream user, const std::function<void()>& what);
  void check_whole() const;
  void wait_for_room(std::uint64_t number) const;
  Buffers publish(const Call& call, std::uint64_t number);
  const char* lend(const void* buffer, std::size_t bytes, StagingBuffer& staging,
                   BufferPlace& place);
  bool in_pairs(const Call& call) const;  // whether ranks copy to and from each other's buffers
  // What `source` copies into the receive buffer of `destination`.
  Part copied(const Call& call, int source, int destination) const;
  bool involved(const Call& call, int peer) const;
  double wait_seconds(const Call& call, int peer) const;  // seconds
  Roles take_roles(const Call& call, std::uint64_t number, bool in_group);
  // `waits`: whether to stay in the place of a first that waits. Role::none: the peer has aborted.
  Role take_role(int peer, std::uint64_t number, bool waits);
  void wait_for_late_peers(const Call& call, Roles& roles, std::uint64_t number);
  void check_not_revoked(const Call& call, const Roles& roles) const;
  void check_same(const Call& call, const Roles& roles, std::uint64_t number) const;
  void begin_messages_locked(const std::vector<Message>& messages, Stream user, bool in_group);
  void start_messages_locked();
  void finish_messages_locked();
  void begin_locked(const Call& call, Stream user, bool in_group);
  void finish_locked();
  void settle(Begun& begun);
  void finish_large(Begun& begun);
  void give_up_begun();
  Tail* tail_of_other_work(Stream user);  // null where that is in no order with calls
  Tail& tail_of(std::uint64_t capture);
  bool is_on(const Tail& tail, Stream user) const;
  void follow_calls(const Tail& tail, Stream user);
  void follow(Tail& tail, Stream user);  // before a call
  void record_other_work(Tail& tail);
  void set_last(Tail& tail, Tail::Last last, Stream user);
  void become_last(Tail& tail, Stream user);
  void count(const Call& call, const Roles& roles);
  void signal_ready(const Roles& roles, Stream user);
  void copy_for_pairs(const Call& call, const Buffers& mine, const Roles& roles,
                      std::uint64_t number, Stream user);
  void push(const Call& call, const Buffers& mine, int to, std::uint64_t number);
  void pull(const Call& call, const Buffers& mine, int from, std::uint64_t number);
  void make_slots();
  void offer_segments();
  std::uint64_t* test_words() const;
  void try_segments_of(int peer);
  void end_test_of_segments();
  void enqueue_packets(const Call& call, Stream user);
  // From the start of the receiver's packet buffers.
  std::size_t packet_buffer(int source, int receiver) const;
  std::size_t packet_turn() const;
  std::size_t packet_memory() const;  // bytes
  char* own_packets() const;
  std::uint32_t* last_number() const;
  bool waits_for_packets_of(int peer) const;  // takes up to 40 ms: asks the device
  // What becomes of a call's parts in slots: an all_reduce may be one pass after the other.
  enum class Pass { reduce, copy };
  struct Piece {
    std::uint32_t number;
    std::size_t begin, end;  // of each part
  };
  bool has_pass(const Call& call, Pass pass) const;
  // Where the pieces of a pass's parts begin, and where the last one ends, in bytes.
  std::vector<std::size_t> cuts(const Call& call) const;
  std::uint32_t pieces(const Call& call) const;
  std::size_t slot(int source, int receiver, std::uint32_t piece) const;
  // `first`: pieces before this call.
  void pass_through_slots(const Call& call, const Buffers& mine, std::uint32_t first, Stream user);
  void pass_pieces(const Call& call, Pass pass, const Buffers& mine, const Piece& piece,
                   Stream user);
  void send_piece(int to, std::uint32_t piece, const char* from, std::size_t bytes, Stream lane);
  void reduce_piece(const Call& call, const Buffers& mine, const Piece& piece, Stream user);
  void copy_piece_out(const Call& call, const Buffers& mine, const Piece& piece, Stream user);
  void copy_own_part(const Call& call, const Buffers& mine, Stream user);
  void wait_for_peers(const Call& call, const Roles& roles, Stream user);

  // Of a peer's words for this rank: the values that it has set last, or will have set when its
  // copies have ended.
  struct Share {
    std::uint32_t pushed, pulled, arrived;
  };
  using Shares = std::array<Share, kMostRanks>;

  void set_error(const std::string& why);
  void warn(const std::string& what);
  bool waits_for(int peer) const;
  Shares revoke_untaken();
  void end_own_waits();
  void record_ends() noexcept;  // of what is in the lanes
  bool own_work_runs() const;   // behind an error: with all that was enqueued before it
  bool leave();
  bool runs(int peer) const;  // whether work of a peer may still run
  bool peers_run() const;
  bool may_touch(int peer) const;

  PairWords& words(int from, int to) const { return (*shared_)->words.pairs[from][to]; }
  PacketWords& packet_words(int rank) const { return (*shared_)->words.packets[rank]; }
  Word& gate(int rank) const { return (*shared_)->words.gates[rank].word; }
  std::atomic<std::uint64_t>& state(int peer, std::uint64_t number) const;

  ShimDevice& device_;
  std::shared_ptr<SharedMemory> shared_;
  const int rank_, ranks_;
  MessageCopies::Processes processes_;

  std::mutex mutex_;  // held over enqueue, drain and the end
  LentMemory lent_;
  BorrowedMemory borrowed_;
  StagingBuffer send_staging_, receive_staging_;
  Stream push_lane_, pull_lane_;
  std::unique_ptr<StreamEvent> begin_, pushed_, pulled_;
  std::uint64_t number_ = 0;  // calls so far
  std::optional<Begun> begun_;
  std::optional<MessageCopies> messages_;  // empty: none are sent here
  Stream messages_user_ = nullptr;
  const Method method_;
  char* slots_ = nullptr;  // which peers may write until they have ended too
  char* test_segments_ = nullptr;
  std::string why_no_segments_;
  std::atomic<std::uint32_t> pieces_{0};  // through slots so far, alike on all ranks
  Tail last_;
  std::deque<Tail> captured_;  // of the captures of late
  bool has_graphs_ = false;    // so that calls are made of which enqueue() does not know
  std::array<Sequence, kMostRanks> mine_, theirs_;  // words of this rank for each, and back

  std::atomic<std::size_t> refusals_{0};  // so far
  std::atomic<bool> ending_{false};
  std::mutex abort_mutex_;          // guards the next two; locked before mutex_
  Shares seen_{};                   // by end_own_waits()
  std::optional<Shares> expected_;  // of the first abort()
  std::atomic<bool> left_{false};   // aborted with all calls done
  std::atomic<bool> stuck_{false};
  mutable std::mutex error_mutex_;
  std::string error_, warning_;
};

}  // namespace duet::nccl_shim
