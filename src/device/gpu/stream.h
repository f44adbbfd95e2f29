// A stream of the vendor's.
#pragma once

#include <string>

#include "device/gpu/device.h"
#include "device/stream.h"

namespace duet::DUET_GPU {

// True if all work of the stream is done; throws its error.
bool stream_idle(gpuStream_t stream);

// True if what the stream is given now goes into a graph.
bool is_captured(gpuStream_t stream);

// Copies from or to pageable memory may hold the calling thread until earlier work of the stream is
// done: do not enqueue them behind a wait that the same thread is to release.
class GpuStream : public Stream {
 public:
  // A stream of its own, which goes with it.
  GpuStream(GpuDevice& device, const StreamOptions& options, int number);
  // The user's stream, which stays.
  GpuStream(GpuDevice& device, gpuStream_t users);
  ~GpuStream() override;
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  Device& device() override { return device_; }
  void copy(const Copy& copy) override;
  void fill(const Span& span, const Fill& fill) override;
  void record(Event& event) override;
  void wait(Event& event) override;
  void signal(const Semaphore& semaphore, std::uint64_t value) override;
  void wait(const Semaphore& semaphore, std::uint64_t value) override;
  void handshake(const Handshake& handshake) override;
  void launch(PreparedKernel& prepared) override;
  [[noreturn]] void run(const Task& task) override;
  void push_commands(const CommandPushes& pushes) override;
  void begin_capture() override;
  std::unique_ptr<Graph> end_capture() override;
  void abandon_capture() noexcept override;
  bool idle() override;
  void synchronize(double deadline_seconds) override;
  void* native() override { return stream_; }

 private:
  void copy_by_engine(const Copy& copy);
  void copy_by_kernel(const Copy& copy);
  void copy_by_host(const Copy& copy);

  GpuDevice& device_;
  std::string name_;
  gpuStream_t stream_ = nullptr;
  bool owned_ = true;
};

}  // namespace duet::DUET_GPU
