// The memory that the ranks of a communicator share, one block in /dev/shm. New memory is zero,
// and so is every member's first value. `X[a][b]`: rank a writes it for rank b.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim {

class Failure;

// What a rank is for a peer, in a call or for a message: nothing where there is nothing to copy, or
// the peer has aborted; `sharing` where each pushes what it sends.
enum class Role { none, first, second, sharing };

// Who of two ranks has come to a call, or to a message: in shared memory, by both. Numbers come
// one after the other; one that was taken back stays.
class PairState {
 public:
  // Comes to a call. `waits`: as a first, stays in the place of one that waits. Role::none: the
  // other has aborted.
  Role come(std::uint64_t number, bool waits);
  // Of a first: waits for the other as long as that may come to share the call, until `end`, of
  // steady_now(), or the end of the communicator. True if it has come; if not, and it
  // comes later, it makes all copies.
  bool wait_for_other(std::uint64_t number, double end, const Failure& failure);
  // Of a first that waits no longer: takes the call back, if the other has not come.
  bool revoke(std::uint64_t number);

 private:
  // The number of the call that one of both has come to, and one of shared_memory.cc's flags.
  std::atomic<std::uint64_t> word_;
};

constexpr std::uint32_t kSharedVersion = 11;
// How many calls a rank may be ahead of another. Also the number of records that a rank keeps.
constexpr std::uint64_t kCallsAhead = 1024;
// Likewise of messages, for each pair and direction; and communicators of how many ranks have them,
// since a rank needs two streams for each peer.
constexpr std::uint64_t kMessagesAhead = 256;
constexpr int kMostMessageRanks = 4;
constexpr std::uint32_t kRows = 1024;  // allocations and segments that a rank lends at a time
constexpr std::size_t kRefusals = 64;  // of a rank that are remembered

struct BufferPlace {
  std::uint32_t row;
  std::uint32_t segments;  // that it is in, from the row's on; 0: an allocation
  std::uint64_t offset;
};

// Of a creation (creation.h), in their order.
enum class Stage : std::uint32_t { absent, joined, offered, lent, agreed, refused };

struct RankEntry {
  std::atomic<Stage> stage;
  std::uint32_t version, ranks;
  std::int32_t process;
  std::uint64_t process_space;  // which /proc `process` is a number of
  std::uint64_t device;
  std::uint64_t settings;                             // hash of what all ranks must have alike
  std::uint32_t reduces;                              // whether this rank's device can
  std::uint32_t exchanges_packets, exchanges_chunks;  // likewise
  // Names what this rank's thread creates in one group; 0: this communicator alone.
  std::atomic<std::uint64_t> together;
  BufferPlace slots, packets;
  BufferPlace segments;          // two of them, lent as a test
  std::uint32_t lends_segments;  // whether the test has been lent,
  std::uint32_t maps_segments;   // and whether those of all ranks are what they are to be here
  std::atomic<std::uint64_t> arrived;  // calls whose records this rank reads no more
  std::atomic<std::uint64_t> deaths;   // rows that have been emptied
  std::atomic<std::uint32_t> drained;  // nothing of this rank's runs any more
};

// An allocation or a segment that a rank lends. Written before the record that first names it.
struct MemoryRow {
  std::atomic<std::uint64_t> id;  // 0: empty
  std::uint64_t base, bytes;
  ExportedMemory memory;
  std::uint64_t handle;             // of a segment, in the owner's process
  std::atomic<std::uint32_t> next;  // where a buffer goes on behind it: the row of that segment
};

// A rank's call: written before its rank comes to any pair, read by those who come second.
struct CallRecord {
  std::uint32_t kind, root, type, reduction;
  std::uint64_t bytes;
  BufferPlace send, receive;
};

// One side's of a message, likewise.
struct MessageRecord {
  std::uint64_t bytes;
  BufferPlace place;
};

// Counters. Of a first comer a: ready[a][b]. Of a second comer a: pushed[a][b], pulled[a][b]. Of
// each of two that share a call: ready[a][b], pushed[a][b]. Of pieces through slots: arrived[a][b]
// in slots of b, freed[a][b] that b may write again.
struct PairWords {
  alignas(64) Word ready;
  Word pushed, pulled;
  Word arrived, freed;
};

// Counters of messages (message_copies.h). Of those from b to a: receivable[a][b], pulled[a][b]. Of
// those from a to b: sendable[a][b], pushed[a][b].
struct MessageWords {
  alignas(64) Word receivable;
  Word pushed, sendable, pulled;
};

template <typename T>
using ByMessageRanks = std::array<std::array<T, kMostMessageRanks>, kMostMessageRanks>;

// A rank's gate word: each call's last wait is for has_come(gate, kGateOpen).
struct GateWord {
  alignas(64) Word word;
};
constexpr std::uint32_t kGateOpen = 0, kGateClosed = 1u << 31;

struct SharedBlock {
  // What streams reach: first, and whole pages.
  struct alignas(4096) Words {
    std::array<std::array<PairWords, kMostRanks>, kMostRanks> pairs;
    ByMessageRanks<MessageWords> messages;
    std::array<GateWord, kMostRanks> gates;
    std::array<ExchangeWords, kMostRanks> exchanges;
  } words;

  std::atomic<std::uint32_t> joined;
  std::atomic<std::uint32_t> broken;  // a rank has failed or aborted: no call is whole any more
  std::array<RankEntry, kMostRanks> ranks;
  // Hashes of the communicators that come of this one and that a rank will not announce.
  std::array<std::array<std::atomic<std::uint64_t>, kRefusals>, kMostRanks> refusals;
  std::array<std::array<MemoryRow, kRows>, kMostRanks> rows;
  std::array<std::array<CallRecord, kCallsAhead>, kMostRanks> records;
  // Of the pair of ranks [lower][higher]: who has come to call k is told at [k % kCallsAhead].
  using PairStates = std::array<PairState, kCallsAhead>;
  std::array<std::array<PairStates, kMostRanks>, kMostRanks> states;

  // Of messages: sent[a][b] to b, received[a][b] from b, and up to which of them a reads what b has
  // recorded no more. Who has come to a message is told as of calls, in [source][destination];
  // only a sender waits for the other, and it pushes if that has come in time.
  ByMessageRanks<std::array<MessageRecord, kMessagesAhead>> sent, received;
  ByMessageRanks<std::atomic<std::uint64_t>> sent_read, received_read;
  ByMessageRanks<std::array<PairState, kMessagesAhead>> message_states;
};

// Of a rank that aborts: sets a word that has not come to `value` as if it had, in a peer's place.
// `seen` becomes what the peer has set last.
void force(Word& word, std::uint32_t value, std::uint32_t& seen);

// A shared block in this process, where it is mapped once for all ranks.
class SharedMemory {
 public:
  // Opens or makes it. `name` is a name in /dev/shm, without a slash. Throws Unavailable.
  static std::shared_ptr<SharedMemory> open(const std::string& name);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  SharedBlock* operator->() const { return memory_; }
  SharedBlock& operator*() const { return *memory_; }

  // Takes the name away. May be called by all ranks, any number of times.
  void unlink() const;

 private:
  explicit SharedMemory(const std::string& path);

  std::string path_;
  SharedBlock* memory_ = nullptr;
};

// A number of this process's space of process ids.
std::uint64_t process_space();

}  // namespace duet::nccl_shim
