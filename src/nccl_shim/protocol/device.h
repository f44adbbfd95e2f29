// What the protocol asks of a device. One object serves one rank; calls of several threads may come
// at a time. Errors are exceptions of core/error.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/reduction.h"

namespace duet::nccl_shim {

constexpr int kMostRanks = 8;  // of a communicator

// A word in memory that all ranks' processes share. Streams set it and wait for it, and so do CPUs.
using Word = std::atomic<std::uint32_t>;

// Whether a word has come to `value`, for counters that may wrap: at most 2^31 - 1 ahead of it.
inline bool has_come(std::uint32_t word, std::uint32_t value) {
  return static_cast<std::int32_t>(word - value) >= 0;
}

struct WordOperation {
  enum class What { set, wait };  // wait: until has_come(word, value)
  What what;
  Word* word;
  std::uint32_t value;
};

struct Allocation {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  // No other allocation of this process ever has it; never 0. Of a segment: its handle, which no
  // other has while it is lent.
  std::uint64_t id = 0;
  bool is_segment = false;  // SegmentMemory's
};

// By which another process maps an allocation.
struct ExportedMemory {
  unsigned char bytes[64];
};

// Memory whose addresses and physical memory are two things: *segments* of physical memory, each
// mapped by itself, of which a buffer may have several. A handle names a segment in this process.
class SegmentMemory {
 public:
  virtual ~SegmentMemory() = default;

  // Keeps a segment that is mapped in this process, and lends it to ranks of this process and to
  // those of the processes `to`. Throws Unavailable if it cannot be exported.
  virtual ExportedMemory lend(const Allocation& segment, const std::vector<int>& to) = 0;
  virtual void take_back(const Allocation& segment, const ExportedMemory& memory) = 0;
  // A handle of what `process` lends, until release(). Waits no longer than 5 s for that process.
  virtual std::uint64_t import_segment(int process, const ExportedMemory& memory) = 0;
  virtual void release(std::uint64_t handle) = 0;

  // Addresses, of which segments take parts that begin at multiples of granule().
  virtual char* reserve(std::size_t bytes) = 0;
  virtual void unreserve(char* base, std::size_t bytes) = 0;
  // For copies of this device.
  virtual void map(char* at, std::size_t bytes, std::uint64_t handle) = 0;
  virtual void unmap(char* at, std::size_t bytes) = 0;
  // Whether this device reaches a segment at its address in this process.
  virtual bool reaches(const void* address) = 0;

  // Memory of this device of `count` segments, one behind the other, of granule() bytes each.
  virtual std::size_t granule() = 0;
  virtual char* make(std::size_t count) = 0;
  virtual void destroy(char* base, std::size_t count) = 0;
};

// `to` becomes the reduction of equal parts, in their order: fp16 and bf16 are accumulated in fp32
// and rounded once. `to` may be one of the parts.
struct PartsToReduce {
  void* to;
  std::vector<const void*> parts;
  std::size_t bytes;  // of one
  DType type;         // fp32, fp16, bf16 or int32
  Reduction reduction;
};

// Blocks of a kernel that exchanges packets, at most: all find room beside a GEMM's.
constexpr std::size_t kPacketBlocks = 16;

// Of a rank's exchanges, in memory that share_words() was given, which is the CPU's. An
// exchange reads and writes these words only when it has waited for long: a call of 128 bytes that
// writes two words there takes 5.2 us, one that writes none 2.8 (two H200).
struct ExchangeWords {
  alignas(64) Word ended;  // set by a CPU: if it is not 0, nothing is waited for
  // By rank: set to 1, again and again, by exchanges that wait for data of that rank; cleared by
  // a CPU that asks whether any still does.
  std::array<Word, kMostRanks> awaited;
};

// Parts that ranks exchange by a kernel on each, which counts calls itself, in the device's memory:
// captured into a graph, it is another call at each launch.
struct Exchange {
  struct Peer {
    const void* send;  // what goes
    void* to;          // into the peer's buffer for this rank,
    const void* from;  // what has come into the own one
    void* receive;     // goes here, unless it is reduced
  };
  std::vector<Peer> peers;  // in the order of ranks
  int rank;                 // this one
  const void* own;          // its part for itself
  void* result;             // where that goes, or what all parts are reduced to; may be `own`
  struct Reduced {          // as PartsToReduce
    DType type;
    Reduction reduction;
  };
  std::optional<Reduced> reduced;
  std::uint32_t* last;  // for each block the last call's number; one exchange after the other
  ExchangeWords* words;
};

// Equal parts as packets: words of data, each beside the number of its call, in buffers at their
// receivers, who wait for the number. `last` is kPacketBlocks long.
struct PacketExchange : Exchange {
  std::size_t bytes;  // of a part
  std::size_t turn;   // from a packet buffer of calls of even numbers to that of odd ones, in bytes
};

// Parts in chunks, by the places that the receiver's buffer has for a few of them
// (device/gpu/chunk_exchange.h). `last` is kChunkStateBytes long: behind the numbers stands whether
// a wait of the block has been ended. It and the buffers, of chunk_buffer_bytes(), are zero at
// first.
struct ChunkExchange : Exchange {
  // By rank. Without a root that of rank r is what r receives of each rank.
  std::vector<std::size_t> parts;
  std::size_t round;  // chunk_shape()'s, for the longest part
  // Only this rank sends parts: to each other rank its own, and keeps a copy of that at
  // Peer::receive where that is not null. Other ranks receive theirs at `result`.
  std::optional<int> root;
  // Each rank passes on to all others what it has received or reduced, but to the root. Of others
  // it goes to Peer::receive.
  bool passes_on;
};

// How long a packet buffer is: 16 bytes for 8 of data. New ones are zero.
constexpr std::size_t packet_bytes(std::size_t bytes) { return (bytes + 7) / 8 * 16; }

class StreamEvent {
 public:
  virtual ~StreamEvent() = default;
};

// Of a graph that is being captured: what its launches record.
class LaunchRecord {
 public:
  virtual ~LaunchRecord() = default;
  // Puts the record behind what `stream`, of the same capture, has now as well.
  virtual void extend(void* stream) = 0;
};

// Names of captures; no other capture of the process has the same.
constexpr std::uint64_t kNotCaptured = 0;
constexpr std::uint64_t kUnknownCapture = UINT64_MAX;  // any use of the stream is an error

class ShimDevice {
 public:
  using Stream = void*;  // the user's own type: a cudaStream_t

  virtual ~ShimDevice() = default;

  // Names the device among all of this machine's, alike in all processes; equal for equal devices.
  virtual std::uint64_t identity() const = 0;

  virtual Stream create_stream() = 0;  // of the highest priority
  virtual void destroy_stream(Stream stream) = 0;
  // Of a stream that exists: no other of the process ever has the same, whatever its handle. 0 if
  // it is not known. Not of one that is in a capture, which it would make invalid.
  virtual std::uint64_t stream_id(Stream stream) = 0;
  virtual std::unique_ptr<StreamEvent> create_event() = 0;

  // An event may be recorded again: a wait is for what was recorded when the wait was enqueued.
  virtual void record(StreamEvent& event, Stream stream) = 0;
  // In a capture both are edges of the graph, and no work: the event is of use in the same capture.
  virtual void wait(Stream stream, StreamEvent& event) = 0;
  // True as well where the device has failed: nothing runs on it any more. Does not throw.
  virtual bool done(StreamEvent& event) = 0;

  // In their order. Words are in memory that share_words() was given.
  virtual void words(Stream stream, const std::vector<WordOperation>& operations) = 0;
  virtual void copy(Stream stream, void* to, const void* from, std::size_t bytes) = 0;

  // The capture that `stream` is in.
  virtual std::uint64_t capture(Stream stream) = 0;
  // In a capture: each launch of the graph waits here for what the event, which was recorded in no
  // capture, recorded last before that launch.
  virtual void wait_at_launch(Stream stream, StreamEvent& event) = 0;
  // In a capture: each launch of the graph records the event behind what `stream` has now, for
  // waits that are enqueued after the launch.
  virtual std::unique_ptr<LaunchRecord> record_at_launch(StreamEvent& event, Stream stream) = 0;

  // Whether reduce() can be called; to be asked before. May wait for the device.
  virtual bool can_reduce() = 0;
  virtual void reduce(Stream stream, const PartsToReduce& reduced) = 0;

  // Of exchange(), as can_reduce(). Both ends' kernels must run at a time.
  virtual bool can_exchange_packets() = 0;
  virtual bool can_exchange_chunks() = 0;
  virtual void exchange(Stream stream, const PacketExchange& exchanged) = 0;
  virtual void exchange(Stream stream, const ChunkExchange& exchanged) = 0;

  // Makes shared memory of this process usable in words(), until unshare_words().
  virtual void share_words(void* base, std::size_t bytes) = 0;
  virtual void unshare_words(void* base) = 0;

  // The allocation that `bytes` from `pointer` on are in, or the segments, one behind the other.
  // Throws Unavailable if they are in nothing that can be exported.
  virtual std::vector<Allocation> allocations(const void* pointer, std::size_t bytes) = 0;
  virtual bool exists(const Allocation& allocation) = 0;
  virtual ExportedMemory export_memory(const Allocation& allocation) = 0;
  // Of another process's allocation.
  virtual void* import_memory(const ExportedMemory& memory, std::size_t bytes) = 0;
  virtual void unimport_memory(void* base, std::size_t bytes) = 0;
  virtual SegmentMemory* segments() { return nullptr; }  // null: it has none
  // Makes memory of another device of this process reachable for copies of this one.
  virtual void reach(const void* memory) = 0;

  // Memory of the drop-in's own, which can be exported. free() may wait for the device.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* base) = 0;
  // Sets memory of allocate() to zero, while no stream uses it.
  virtual void clear(void* base, std::size_t bytes) = 0;
  // Of the CPU, in memory of allocate() or import_memory(), while no stream uses it.
  virtual void write(std::uint64_t* to, std::uint64_t value) = 0;
  virtual std::uint64_t read(const std::uint64_t* from) = 0;
};

// Where the device has failed, events count as done, and nothing is recorded.
inline void try_record(ShimDevice& device, StreamEvent& event, ShimDevice::Stream stream) noexcept {
  try {
    device.record(event, stream);
  } catch (const Error&) {
    // What made it fail is on its way already, or nothing runs any more.
  }
}

// Whether the handle names another stream in each thread (cudaStreamPerThread).
inline bool is_of_thread(ShimDevice::Stream stream) {
  return reinterpret_cast<std::uintptr_t>(stream) == 2;
}

}  // namespace duet::nccl_shim
