// A collective as data: what every rank enqueues, in terms of places and semaphores that have no
// addresses yet. algorithms/ makes schedules, fault_of() (checker.h) proves them, and SchedulePlan
// runs a rank's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/call_rows.h"
#include "collectives/collective.h"
#include "device/stream.h"

namespace duet {

// Of a vector, by a number of a rank, lane or step.
constexpr std::size_t index_of(int number) { return static_cast<std::size_t>(number); }

// Memory of a rank: the caller's buffers, and what the plan owns.
enum class BufferRole {
  send,
  recv,
  slots,     // staging: other ranks access it too
  scratch,   // of the rank alone
  incoming,  // messages come here
};

struct Place {
  BufferRole buffer = BufferRole::send;
  int rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Place& other) const {
    return buffer == other.buffer && rank == other.rank && offset == other.offset &&
           bytes == other.bytes;
  }
};

// Semaphores of one purpose. Each rank owns `count` for every rank, itself included, or so many in
// all.
struct SemaphoreGroup {
  std::string name;
  int count = 1;
  int initial = 0;              // 0 or 1: its value whenever no rank is in a call
  bool only_for_speed = false;  // the result is right without it
  bool for_every_rank = true;   // else SemaphoreAt::peer is 0
  // Of kernels alone: a word for each of so many blocks. 0: streams wait for it too.
  int blocks = 0;
  bool counts = false;  // never set back: a wait is for the signal with its own number
  // go, gone or come of a wire, which has their words; `count` is the number of its messages.
  bool of_wire = false;

  // Of a rank, in all, where `ranks` map each other's memory.
  int words(int ranks) const {
    if (of_wire) return 0;
    return count * (for_every_rank ? ranks : 1) * (blocks > 0 ? blocks : 1);
  }
};

// A semaphore with the values 0 and 1, in memory of `owner`, whose streams wait for it and set it
// back to 0. `peer` is the rank that it is about, mostly the one that signals it: rank a signals
// {group, b, a} and b waits for {group, b, a}.
struct SemaphoreAt {
  int group = 0;  // in RankSchedule::semaphores
  int owner = 0, peer = 0;
  int index = 0;  // below the group's count
};

struct StepCopy {
  Place to, from;  // of equal size
  Executor executor = Executor::dma;
  KernelShape shape;
};

// What a kernel does once all `waits` are 1: writes the sum of the sources to every target, sets
// the waits back to 0, and sets `signals` to 1. All places are of equal size. An item that only
// waits and signals has none.
struct StepItem {
  std::vector<SemaphoreAt> waits;
  std::vector<Place> sources;
  std::vector<Place> targets;
  std::vector<SemaphoreAt> signals;
  std::uint32_t divisor = 0;  // of an average, as KernelItem::divisor
};

// Of a kernel with the kernels of all other ranks: before its items and after them each rank
// signals every other one and waits for it.
struct KernelBarriers {
  int group = 0;  // in RankSchedule::semaphores; counts
  bool opens = true, closes = true;
  bool closes_for_speed = false;  // the result is right without the one that closes
};

// What a rank exchanges with another one, or with itself, where it sends packets. Its own part may
// be where it belongs.
struct PacketPart {
  Place source;  // for the other rank
  Place target;  // for what the other rank has; where parts are reduced, the same for all
};

// A kernel. Without items and barriers: none.
struct StepKernel {
  std::vector<StepItem> items;
  DType dtype = DType::fp32;  // of elements that are reduced
  Reduction op = Reduction::sum;
  int blocks = 0;
  // A LocalKernel, whose items run one after the other.
  bool adds = false;      // the target is the first of two sources
  bool by_block = false;  // LocalKernel::semaphores_by_block
  // A PeerKernel, whose items run side by side.
  std::optional<KernelBarriers> barriers;
  // Not empty: a PacketKernel. By distance from this rank, from the rank itself on; the items are
  // what devices without packets do.
  std::vector<PacketPart> packets;
  // What a PacketKernel does with the sum, on devices that normalise it.
  SumNorm norm = {};

  bool is_none() const { return items.empty() && !barriers; }
};

// Bytes that the network carries from this rank to `to`, from each source to its target; as the
// message of the same number the rank `from` sends pieces of so many bytes to this one.
struct StepMessagePiece {
  Place source, target;
};
struct StepMessage {
  int to = 0, from = 0;
  std::vector<StepMessagePiece> pieces;
  std::vector<std::uint64_t> arrivals;
  bool staged = false, tells_gone = false;  // as WireMessage's
};

inline constexpr std::string_view kNetworkText = "{network}";

// What a rank sends by one wire (session/wire.h), in the order in which it goes, and the wire's
// semaphores, as numbers in RankSchedule::semaphores: message i has number i of each.
struct WireMessages {
  std::vector<StepMessage> messages;
  int go = 0, gone = 0, come = 0;
  bool to_incoming = false;  // else messages come to the receive buffer
};

// A call of a wire's functions begin(), enqueue() or end().
struct WireCall {
  enum class Kind { begin, send, end };
  Kind kind = Kind::begin;
  int wire = 0;     // in RankSchedule::wires
  int message = 0;  // that is sent
};

// What the caller computes in a call (CallCompute, collectives/engine.h).
enum class ComputePart { before, beside };

// Rows that the caller multiplies (MultiplyRows, collectives/call_rows.h): they stand in `place`;
// of a reduction these are the rank's partial sums, which come there.
struct StepRows {
  RowBlock rows;
  Place place;
  bool adds = false;  // to what is there
};

// What a rank enqueues on one of its lanes: it starts when the lane's step before it and all of
// `after` have ended and all of `waits` are 1, sets these back to 0, copies, runs the kernel, and
// sets `signals` to 1. All parts but the lane may be empty: a step with nothing else is a point
// that others wait for.
struct Step {
  int lane = 0;                      // 0: the caller's stream
  std::vector<int> after;            // earlier steps of the rank, on other lanes
  std::vector<int> after_for_speed;  // likewise; the result is right without them
  std::vector<SemaphoreAt> waits;
  std::vector<StepCopy> copies;
  StepKernel kernel;
  std::optional<WireCall> wire;        // of lane 0, in a step with nothing else
  std::optional<ComputePart> compute;  // likewise
  // Rows that the caller multiplies, in a step with nothing else: on its stream or one lane more.
  std::optional<StepRows> rows;
  bool by_wire = false;  // what a wire does (message_steps.h), which reaches other nodes
  std::vector<SemaphoreAt> signals;
  // What `after` is for, where steps have it by one rule and need it only together; "": each alone.
  std::string rule;
};

// One rank's part. Semaphores, slots and what ranks write to are equal on all ranks of a
// collective.
struct RankSchedule {
  int rank = 0, ranks = 1;
  std::vector<SemaphoreGroup> semaphores;
  std::uint64_t slot_bytes = 0;  // of the buffer `slots` at each rank
  bool pushes_to_recv = false;   // whether ranks write to other ranks' receive buffers
  bool reads_send = false;       // whether ranks read other ranks' send buffers
  bool pushes_to_send = false;   // whether ranks write to them, where rows are multiplied
  bool multiplies_rows = false;  // steps have the rows of the collective's matrices
  // Whether plans of equal sizes, on one caller's stream, may have the same slots and semaphores.
  bool may_share_memory = false;
  std::uint64_t read_by_others = 0;  // bytes of the rank's own that other ranks read
  // Over nodes: the ranks of this one's node, in rising order, which alone map each other's memory.
  // Empty: all do.
  std::vector<int> node;
  std::vector<WireMessages> wires;
  std::uint64_t scratch_bytes = 0;   // of the buffer `scratch`
  std::uint64_t incoming_bytes = 0;  // of the buffer `incoming`, for the messages of one wire
  // In words, for the journal; the own rank's. Each wire says what it does where kNetworkText
  // stands.
  std::string algorithm;
  std::vector<Step> steps;  // in the order of enqueueing
};

// How many ranks map this one's memory, it among them.
int mapped_ranks(const RankSchedule& schedule);
// The rank's number among those of RankSchedule::node.
int number_in(const std::vector<int>& node, int rank);

// What the rank signals at all others in a barrier, and what it waits for.
std::vector<SemaphoreAt> barrier_signals(const RankSchedule& schedule,
                                         const KernelBarriers& barriers);
std::vector<SemaphoreAt> barrier_waits(const RankSchedule& schedule,
                                       const KernelBarriers& barriers);

// The second one behind the first, on the caller's stream, with semaphores, memory and wires of its
// own. One of them at most has incoming messages in memory of the plan.
RankSchedule in_a_row(RankSchedule first, const RankSchedule& second);

// What the result is right without.
struct SpeedParts {
  bool edges = true;       // Step::after_for_speed
  bool semaphores = true;  // SemaphoreGroup::only_for_speed, KernelBarriers::closes_for_speed
};
// What of these the schedule has.
SpeedParts speed_parts_of(const RankSchedule& schedule);
// The schedule without these.
RankSchedule without(const SpeedParts& parts, RankSchedule schedule);

// Bytes that leave the rank in a call, and those of them that leave its node: messages, and what
// the rank copies to other ranks that `beyond_node` says.
std::uint64_t wire_bytes_of(const RankSchedule& schedule);
std::uint64_t network_bytes_of(const RankSchedule& schedule,
                               const std::function<bool(int rank)>& beyond_node);

std::string name(BufferRole buffer);
// "send of rank 1, 64 bytes from 0 on"
std::string text_of(const Place& place);
// "ready[2] of rank 0 for rank 3"
std::string text_of(const RankSchedule& schedule, const SemaphoreAt& semaphore);

// Appends steps to a rank's schedule. add() and join() return the step's number.
class ScheduleWriter {
 public:
  ScheduleWriter(RankSchedule& schedule) : schedule_(schedule) {}

  int add(Step step);
  Step& at(int step) { return schedule_.steps[index_of(step)]; }
  // A point on each of the lanes [first, first + count) behind the last step of lane 0; count may
  // be 0.
  void fork(int first, int count);
  // A step of lane 0 behind the last steps of these lanes.
  int join(int first, int count, std::vector<SemaphoreAt> waits = {});

 private:
  int last_of(int lane) const;

  RankSchedule& schedule_;
};

}  // namespace duet
