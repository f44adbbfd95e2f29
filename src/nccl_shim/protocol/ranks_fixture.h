// Ranks on host devices, for tests: as threads of this process, or each in a process of its own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "fake_gpu/cuda/host_device.h"
#include "fake_gpu/cuda/host_segments.h"
#include "nccl_shim/protocol/guard.h"
#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim::testing {

constexpr std::size_t kPieceBytes = 1024;     // of what goes through slots
constexpr std::size_t kTestChunkRound = 512;  // Method::chunk_round

struct Setting {
  int ranks = 2;
  unsigned device_delay = 0;  // microseconds
  unsigned cpu_delay = 0;     // before each call of pause()
  double wait_per_byte = 0;   // seconds per byte
  bool staged = false;
  std::size_t most_by_packets = 0;
  bool has_segments = false;
  int ranks_without_segments = 0;  // the first ones
  // Of all kinds; where it is set, captured calls of any size go by chunks.
  std::optional<std::size_t> most_by_chunks = std::nullopt;
  std::size_t chunk_round = kTestChunkRound;

  static Setting by_chunks(int ranks, unsigned device_delay, unsigned cpu_delay,
                           std::size_t most = 1 << 20) {
    Setting made{ranks, device_delay, cpu_delay};
    made.most_by_chunks = most;
    return made;
  }
};

// cudaStreamPerThread's.
const ShimDevice::Stream kStreamOfThread = reinterpret_cast<ShimDevice::Stream>(2);

// A device that calls `before_look_up`, if there is one, where a call's buffers are looked up,
// `before_allocate` where memory of the drop-in's own is allocated, `before_import` where another
// process's is mapped, `before_record` where an event is recorded, and `before_copy` where a copy
// is enqueued; that counts copies, and waits for events; and that maps memory of another process at
// one base once at a time, as CUDA does, if that is asked for.
class TestDevice : public host::HostShimDevice {
 public:
  using HostShimDevice::HostShimDevice;
  std::vector<Allocation> allocations(const void* pointer, std::size_t bytes) override {
    if (before_look_up) before_look_up();
    std::vector<Allocation> segments = TestSegments::of(pointer, bytes);
    if (!segments.empty()) return segments;
    return HostShimDevice::allocations(pointer, bytes);
  }
  void copy(Stream stream, void* to, const void* from, std::size_t bytes) override {
    ++copies;
    for (const void* each : {static_cast<const void*>(to), from}) {
      if (!host_vmm::reaches(each, bytes, static_cast<int>(identity()))) {
        throw Error("a copy to or from a segment that the device does not reach");
      }
    }
    if (before_copy) before_copy(stream);
    if (bytes_may_meet) {
      copy_unseen(stream, to, from, bytes);
    } else {
      HostShimDevice::copy(stream, to, from, bytes);
    }
  }
  void* allocate(std::size_t bytes) override {
    if (before_allocate) before_allocate();
    return HostShimDevice::allocate(bytes);
  }
  void record(StreamEvent& event, Stream stream) override {
    if (before_record) before_record();
    HostShimDevice::record(event, stream);
  }
  void wait(Stream stream, StreamEvent& event) override {
    ++waits;
    HostShimDevice::wait(stream, event);
  }
  void exchange(Stream stream, const PacketExchange& exchanged) override {
    exchange_words = exchanged.words;
    HostShimDevice::exchange(stream, exchanged);
  }
  void exchange(Stream stream, const ChunkExchange& exchanged) override {
    ++chunk_exchanges;
    exchange_words = exchanged.words;
    HostShimDevice::exchange(stream, exchanged);
  }
  std::uint64_t stream_id(Stream stream) override {
    return knows_streams ? first_stream_id + HostShimDevice::stream_id(stream) : 0;
  }
  bool exists(const Allocation& allocation) override {
    return allocation.is_segment ? TestSegments::exists(allocation)
                                 : HostShimDevice::exists(allocation);
  }
  SegmentMemory* segments() override { return has_segments ? &own_segments : nullptr; }
  ExportedMemory export_memory(const Allocation& allocation) override;
  void* import_memory(const ExportedMemory& memory, std::size_t bytes) override;
  void unimport_memory(void* base, std::size_t bytes) override;
  std::size_t mapped() const { return mapped_.size(); }  // of other processes

  std::function<void()> before_look_up, before_allocate, before_import, before_record;
  std::function<void(Stream)> before_copy;
  bool maps_a_base_once = false, knows_streams = true, has_segments = false;
  TestSegments own_segments{static_cast<int>(identity())};
  // Bytes of copies that an abort has ended the waits of may be anything: the thread sanitizer is
  // not to see them.
  bool bytes_may_meet = false;
  int copies = 0, waits = 0, chunk_exchanges = 0;
  ExchangeWords* exchange_words = nullptr;  // of the last exchange
  std::uint64_t first_stream_id = 0;

 private:
  static void copy_unseen(Stream stream, void* to, const void* from, std::size_t bytes);

  std::map<void*, std::uintptr_t> mapped_;  // the owner's base, by the own one
};

// One rank of a test, with its communicator.
class TestRank {
 public:
  TestRank(const Setting& setting, const std::string& name, int rank);
  ~TestRank();

  const int rank, ranks;
  TestDevice device;
  std::unique_ptr<PairCopies> copies;

  ShimDevice::Stream stream(int index = 0);  // made at the first use
  // Enqueues what a user's kernel would do.
  void run(ShimDevice::Stream stream, std::function<void()> kernel);
  void synchronise();
  void end();             // of the communicator
  void pause();           // the setting's delay of the CPU
  void wait_for_error();  // throws Timeout if there is none in 30 s
  void end_by_abort();    // which gives nothing up

 private:
  Guard guard_;
  std::vector<ShimDevice::Stream> streams_;
  unsigned cpu_delay_, random_;
};

std::string unused_name();
// Whether anything is in /dev/shm that this process or its children have made by unused_name().
bool has_shared_memory();

using Body = std::function<void(TestRank&)>;
// Throws the first error of a rank.
void on_threads(const Setting& setting, const Body& body);

// Process ids, in the order of ranks. A process ends with 0 if body returns and no expectation
// failed.
std::vector<int> start_processes(const Setting& setting, const Body& body);
// The status of waitpid(): 0, or a signal.
int end_of(int process);
void expect_ends(const Setting& setting, const std::vector<int>& ends, const Body& body);
void on_processes(const Setting& setting, const Body& body);  // and expects that each ends with 0
// Of processes that are started later; 0 at first.
std::atomic<int>* shared_number();
void wait_until(const std::atomic<int>& number, int reaches);  // throws Timeout after 60 s

// Enqueues a kernel of the program, which runs until `go` is 1. Where a test fails before that, it
// ends after a minute, so that the stream can be destroyed. `go` outlives the rank.
void run_until(TestRank& rank, ShimDevice::Stream stream, const std::atomic<int>& go);

}  // namespace duet::nccl_shim::testing
