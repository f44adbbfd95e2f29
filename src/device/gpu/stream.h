#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/error.h"
#include "device/command_fifo.h"
#include "device/gpu/device.h"
#include "device/gpu/event.h"
#include "device/gpu/vendor_calls.h"
#include "device/stream.h"

namespace duet::DUET_GPU {

// Whether all work of the stream has completed. Throws the stream's error.
bool stream_idle(gpuStream_t stream);

// Whether the stream is being captured into a graph.
bool is_captured(gpuStream_t stream);

// Throw BadArgument: the event unless it is of the device's machine, the copy as Stream::copy()
// says.
GpuEvent& own_event(Event& event, const GpuDevice& device);
void check_copy(const Copy& copy, const GpuDevice& device);

// copy.cc has the copies, graph.cc the captures.
//
// Hazard: a copy from or to pageable memory may block the calling thread until earlier work of the
// stream has completed. Do not enqueue one behind a wait that the same thread must signal.
class GpuStream : public Stream, public CommandPusher {
 public:
  // Creates a stream, which the destructor destroys.
  GpuStream(GpuDevice& device, const StreamOptions& options, int number);
  // Wraps a stream of the user's, which the destructor does not destroy.
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

// Enqueues a call of `function` on the CPU, in stream order. `function` must not throw and must not
// call the runtime. It is destroyed after it has run once. Throws Unavailable on a stream that is
// being captured, because a graph could run the function more than once.
template <typename Function>
void call_on_host(gpuStream_t stream, Function function) {
  if (is_captured(stream)) throw Unavailable("a function on the CPU cannot be captured");
  auto kept = std::make_unique<Function>(std::move(function));
  stream_call(
      stream,
      [](void* data) {
        const std::unique_ptr<Function> held(static_cast<Function*>(data));
        (*held)();
      },
      kept.get());
  static_cast<void>(kept.release());  // owned by the stream from here on
}

}  // namespace duet::DUET_GPU
