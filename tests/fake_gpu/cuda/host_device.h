// The drop-in's device on CPUs: its streams and memory are those of the fake GPUs.
#pragma once

#include <atomic>

#include "fake_gpu/core/memory.h"
#include "fake_gpu/core/streams.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::host {

// Memory of allocations, which imported memory is not. Throws Unavailable where bytes are in none.
fake_gpu::Range allocated(const void* pointer, std::size_t bytes);

// Sets the word, or waits for it.
void enqueue_word(fake_gpu::Stream& stream, const WordOperation& operation);

class HostShimDevice : public ShimDevice {
 public:
  // `identity`: as ShimDevice's. Its streams' operations begin up to `delay_microseconds` late.
  explicit HostShimDevice(std::uint64_t identity, unsigned delay_microseconds = 0)
      : identity_(identity), delay_(delay_microseconds) {}

  std::uint64_t identity() const override { return identity_; }
  Stream create_stream() override;
  void destroy_stream(Stream stream) override;  // behind what it has
  std::uint64_t stream_id(Stream stream) override;
  std::unique_ptr<StreamEvent> create_event() override;
  void record(StreamEvent& event, Stream stream) override;
  void wait(Stream stream, StreamEvent& event) override;
  bool done(StreamEvent& event) override;
  void words(Stream stream, const std::vector<WordOperation>& operations) override;
  void copy(Stream stream, void* to, const void* from, std::size_t bytes) override;
  std::uint64_t capture(Stream stream) override;
  void wait_at_launch(Stream stream, StreamEvent& event) override;
  std::unique_ptr<LaunchRecord> record_at_launch(StreamEvent& event, Stream stream) override;
  bool can_reduce() override { return true; }
  void reduce(Stream stream, const PartsToReduce& reduced) override;
  bool can_exchange_packets() override { return true; }
  bool can_exchange_chunks() override { return true; }
  void exchange(Stream stream, const PacketExchange& exchanged) override;
  void exchange(Stream stream, const ChunkExchange& exchanged) override;
  void share_words(void*, std::size_t) override {}
  void unshare_words(void*) override {}
  std::vector<Allocation> allocations(const void* pointer, std::size_t bytes) override;
  bool exists(const Allocation& allocation) override;
  ExportedMemory export_memory(const Allocation& allocation) override;
  void* import_memory(const ExportedMemory& memory, std::size_t bytes) override;
  void unimport_memory(void* base, std::size_t bytes) override;
  void reach(const void*) override {}
  void* allocate(std::size_t bytes) override;
  void free(void* base) override;
  void clear(void* base, std::size_t bytes) override;
  void write(std::uint64_t* to, std::uint64_t value) override { *to = value; }
  std::uint64_t read(const std::uint64_t* from) override { return *from; }

  void synchronise(Stream stream);

 private:
  int device() const { return static_cast<int>(identity_); }

  const std::uint64_t identity_;
  const unsigned delay_;
  std::atomic<unsigned> streams_{0};
};

}  // namespace duet::nccl_shim::host
