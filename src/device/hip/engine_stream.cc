// A stream for copies by SDMA engines. They, and waits for spaced semaphores, are on a queue of
// Duet's own (batch_queue.h). Everything else is on a stream of HIP's, the companion. Where the
// work of one has to wait for the other's:
//
//   companion -> queue   the companion writes a word, for which the queue waits
//   queue -> companion   the companion waits for the queue's progress, by a kernel that polls
//
// An event is recorded on that of the two whose work is the last, so that events between queues,
// and from streams of HIP's to queues, need no kernel that polls.
#include <cstring>

#include "core/error.h"
#include "device/gpu/polling.h"
#include "device/gpu/stream.h"
#include "device/hip/batch_queue.h"

namespace duet::hip {
namespace {

class EngineStream : public Stream {
 public:
  EngineStream(GpuDevice& device, const StreamOptions& options, int number);
  ~EngineStream() override;
  EngineStream(const EngineStream&) = delete;
  EngineStream& operator=(const EngineStream&) = delete;

  Device& device() override { return device_; }
  void copy(const Copy& copy) override;
  void fill(const Span& span, const Fill& fill) override {
    on_companion([&] { companion_.fill(span, fill); });
  }
  void record(Event& event) override;
  void wait(Event& event) override;
  void signal(const Semaphore& semaphore, std::uint64_t value) override;
  void wait(const Semaphore& semaphore, std::uint64_t value) override;
  void launch(PreparedKernel& prepared) override {
    on_companion([&] { companion_.launch(prepared); });
  }
  void run(const Task& task) override { companion_.run(task); }
  void begin_capture() override { cannot_capture(); }
  std::unique_ptr<Graph> end_capture() override { cannot_capture(); }
  void abandon_capture() noexcept override {}
  bool idle() override;
  void synchronize(double deadline_seconds) override;

 private:
  [[noreturn]] void cannot_capture() const {
    throw Unavailable(name_ + " cannot be captured, because the CPU submits its copies");
  }
  hipStream_t native_companion() { return static_cast<hipStream_t>(companion_.native()); }
  std::uint64_t* entry_word() const {
    return reinterpret_cast<std::uint64_t*>(spaced_semaphore_at(entry_.span(), 0).word.data);
  }
  template <typename Work>
  void on_companion(const Work& work);
  template <typename Work>
  void on_queue(const Work& work);

  GpuDevice& device_;
  std::string name_;
  Buffer entry_;  // a spaced semaphore: how often the queue has waited for the companion
  std::uint64_t entries_ = 0;
  std::unique_ptr<BatchQueue> queue_;
  GpuStream companion_;
  bool queue_ahead_ = false;      // it has work for which the companion has not waited
  bool companion_ahead_ = false;  // likewise
};

EngineStream::EngineStream(GpuDevice& device, const StreamOptions& options, int number)
    : device_(device),
      name_("stream " + std::to_string(number) + " for engines of " + device.info().name),
      entry_(device.allocate(kSpacedBytes, MemoryKind::pinned)),
      queue_(std::make_unique<BatchQueue>(device, SdmaCopies::of(device))),
      companion_(device, options, number) {
  std::memcpy(entry_.span().data, &kSpacedFirst, sizeof kSpacedFirst);
  *entry_word() = 0;
}

EngineStream::~EngineStream() {
  if (!queue_->close()) static_cast<void>(queue_.release());
}

template <typename Work>
void EngineStream::on_companion(const Work& work) {
  device_.use();
  if (queue_ahead_) {
    const EventMark mark = queue_->mark();
    stream_wait(native_companion(), mark.word.get(), mark.value);
    queue_ahead_ = false;
  }
  work();
  companion_ahead_ = true;
}

// The companion's write releases to system scope: engines read what its kernels have written.
template <typename Work>
void EngineStream::on_queue(const Work& work) {
  device_.use();
  if (companion_ahead_) {
    stream_write(native_companion(), entry_word(), ++entries_);
    queue_->wait(entry_word(), entries_);
    companion_ahead_ = false;
  }
  queue_ahead_ = true;
  work();
}

void EngineStream::copy(const Copy& copy) {
  if (copy.executor != Executor::sdma) return on_companion([&] { companion_.copy(copy); });
  check_copy(copy, device_);
  if (copy.source.bytes == 0) return;
  on_queue([&] { queue_->add(copy); });
}

void EngineStream::record(Event& event) {
  if (!queue_ahead_) return companion_.record(event);
  on_queue([&] { own_event(event, device_).record(device_, queue_->mark()); });
}

// The companion's wait for an event needs none for the queue: the queue waits for both.
void EngineStream::wait(Event& event) {
  const EventMark& mark = own_event(event, device_).mark();
  if (mark.word != nullptr) {
    return on_queue([&] { queue_->wait(mark.word.get(), mark.value); });
  }
  companion_.wait(event);
  companion_ahead_ = true;
}

void EngineStream::signal(const Semaphore& semaphore, std::uint64_t value) {
  device_.machine().require_semaphore(semaphore, device_);
  if (value > 1) return on_companion([&] { companion_.signal(semaphore, value); });
  const SdmaCopies& copies = SdmaCopies::of(device_);
  const Copy write{semaphore.word, value == 1 ? copies.one() : copies.zero(), Executor::sdma, {}};
  on_queue([&] { queue_->add(write); });
}

void EngineStream::wait(const Semaphore& semaphore, std::uint64_t value) {
  device_.machine().require_semaphore(semaphore, device_);
  if (!device_.is_spaced(semaphore)) {
    companion_.wait(semaphore, value);
    companion_ahead_ = true;
    return;
  }
  on_queue(
      [&] { queue_->wait(reinterpret_cast<const std::uint64_t*>(semaphore.word.data), value); });
}

bool EngineStream::idle() {
  const EventMark mark = queue_->mark();
  return __atomic_load_n(mark.word.get(), __ATOMIC_ACQUIRE) >= mark.value && companion_.idle();
}

void EngineStream::synchronize(double deadline_seconds) {
  gpu::wait_until(name_, deadline_seconds, [this] { return idle(); });
}

}  // namespace

std::unique_ptr<Stream> make_engine_stream(GpuDevice& device, const StreamOptions& options,
                                           int number) {
  return std::make_unique<EngineStream>(device, options, number);
}

}  // namespace duet::hip
