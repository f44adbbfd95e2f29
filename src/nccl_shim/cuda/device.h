// The protocol's device on NVIDIA GPUs, by the driver alone. Memory of cudaMalloc is lent by legacy
// IPC handles, that of cuMemCreate as segments (segments.h); any other (pools, managed, pinned) is
// not, and is copied to and from staging buffers.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "nccl_shim/cuda/driver.h"
#include "nccl_shim/cuda/kernels.h"
#include "nccl_shim/cuda/segments.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

class CudaShimDevice : public ShimDevice {
 public:
  // The device of a context, which must outlive it. Throws Error.
  explicit CudaShimDevice(CUcontext context);
  ~CudaShimDevice() override;
  CudaShimDevice(const CudaShimDevice&) = delete;
  CudaShimDevice& operator=(const CudaShimDevice&) = delete;

  std::uint64_t identity() const override { return identity_; }
  Stream create_stream() override;
  void destroy_stream(Stream stream) override;
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
  bool can_reduce() override;
  void reduce(Stream stream, const PartsToReduce& reduced) override;
  bool can_exchange_packets() override;
  bool can_exchange_chunks() override;
  void exchange(Stream stream, const PacketExchange& exchanged) override;
  void exchange(Stream stream, const ChunkExchange& exchanged) override;
  void share_words(void* base, std::size_t bytes) override;
  void unshare_words(void* base) override;
  std::vector<Allocation> allocations(const void* pointer, std::size_t bytes) override;
  bool exists(const Allocation& allocation) override;
  ExportedMemory export_memory(const Allocation& allocation) override;
  void* import_memory(const ExportedMemory& memory, std::size_t bytes) override;
  void unimport_memory(void* base, std::size_t bytes) override;
  SegmentMemory* segments() override { return segments_.get(); }
  void reach(const void* memory) override;
  void* allocate(std::size_t bytes) override;
  void free(void* base) override;
  void clear(void* base, std::size_t bytes) override;
  void write(std::uint64_t* to, std::uint64_t value) override;
  std::uint64_t read(const std::uint64_t* from) override;

 private:
  // Shared memory that is page-locked here, and where the device sees it.
  struct SharedWords {
    const char* base;
    std::size_t bytes;
    CUdeviceptr device;
  };

  CUdeviceptr device_address(const void* word);
  void transfer(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);

  const CUcontext context_;
  CUdevice device_ = 0;
  std::uint64_t identity_ = 0;
  CUstream service_ = nullptr;  // for accesses of the CPU
  std::unique_ptr<CudaSegments> segments_;
  const ReduceKernels* kernels_ = nullptr;
  const PacketKernels* packets_ = nullptr;
  const ChunkKernels* chunks_ = nullptr;
  std::mutex mutex_;  // guards shared_
  std::vector<SharedWords> shared_;
};

}  // namespace duet::nccl_shim::cuda
