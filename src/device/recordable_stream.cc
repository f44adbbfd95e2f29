#include "device/recordable_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

// Lane 0 runs on the stream of the launch. The other lanes run on the graph's own streams, because
// the captured streams may be destroyed before the launch.
class RecordedGraph : public Graph {
 public:
  RecordedGraph(Device& device, std::vector<RecordedCalls::Call> calls,
                std::vector<std::unique_ptr<Stream>> others)
      : device_(device), calls_(std::move(calls)), others_(std::move(others)) {}

  void launch(Stream& stream) override {
    if (&stream.device() != &device_) {
      throw BadArgument(
          fmt::format("{}: a graph of {}", stream.device().info().name, device_.info().name));
    }
    for (const RecordedCalls::Call& call : calls_) {
      call.make(call.lane == 0 ? stream : *others_[call.lane - 1]);
    }
  }

  std::size_t size() const override { return calls_.size(); }

 private:
  Device& device_;
  std::vector<RecordedCalls::Call> calls_;
  std::vector<std::unique_ptr<Stream>> others_;
};

}  // namespace

RecordedCalls::RecordedCalls(RecordableStream& origin) {
  lanes_.push_back({&origin, &origin.device(), origin.priority()});
}

std::size_t RecordedCalls::lane_of(const RecordableStream& stream) const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(), [&](const CapturedStream& lane) {
    return lane.stream == &stream;
  });
  return static_cast<std::size_t>(found - lanes_.begin());
}

void RecordedCalls::call(const RecordableStream& stream, std::function<void(Stream&)> make) {
  const std::size_t number = lane_of(stream);
  CapturedStream& lane = lanes_[number];
  ++lane.calls;
  lane.open = number > 0;
  calls_.push_back({number, std::move(make)});
}

std::size_t RecordedCalls::record(RecordableStream& stream) {
  const std::shared_ptr<Event> event = stream.device().make_event(EventUse::order);
  call(stream, [event](Stream& again) { again.record(*event); });
  const std::size_t lane = lane_of(stream);
  recordings_.push_back({lane, lanes_[lane].calls, event});
  return recordings_.size() - 1;
}

void RecordedCalls::wait(RecordableStream& stream, std::size_t recording) {
  if (lane_of(stream) == lanes_.size()) {
    lanes_.push_back({&stream, &stream.device(), stream.priority()});
  }
  const Recording& awaited = recordings_[recording];
  call(stream, [event = awaited.event](Stream& again) { again.wait(*event); });
  CapturedStream& source = lanes_[awaited.lane];
  if (source.stream != &stream && source.calls == awaited.calls) source.open = false;
}

std::unique_ptr<Graph> RecordedCalls::graph() {
  std::vector<std::unique_ptr<Stream>> others;
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    const CapturedStream& lane = lanes_[i];
    if (lane.open) {
      throw BadArgument(
          fmt::format("a capture ends with work on a stream of {} that no event joins to the "
                      "stream on which the capture began",
                      lane.device->info().name));
    }
    others.push_back(lane.device->make_stream({lane.priority}));
  }
  return std::make_unique<RecordedGraph>(*lanes_.front().device, std::move(calls_),
                                         std::move(others));
}

std::vector<RecordableStream*> RecordedCalls::streams() const {
  std::vector<RecordableStream*> all;
  for (const CapturedStream& lane : lanes_) {
    if (lane.stream != nullptr) all.push_back(lane.stream);
  }
  return all;
}

void RecordedCalls::forget(const RecordableStream& stream) noexcept {
  for (CapturedStream& lane : lanes_) {
    if (lane.stream == &stream) lane.stream = nullptr;
  }
}

RecordableStream::~RecordableStream() {
  if (capture_ != nullptr) capture_->forget(*this);
}

void RecordableStream::copy(const Copy& copy) {
  if (copy.executor == Executor::sdma) refuse_sdma();
  if (capture_ == nullptr) return enqueue_copy(copy);
  capture_->call(*this, [copy](Stream& stream) { stream.copy(copy); });
}

void RecordableStream::fill(const Span& span, const Fill& fill) {
  if (capture_ == nullptr) return enqueue_fill(span, fill);
  capture_->call(*this, [span, fill](Stream& stream) { stream.fill(span, fill); });
}

void RecordableStream::signal(const Semaphore& semaphore, std::uint64_t value) {
  if (capture_ == nullptr) return enqueue_signal(semaphore, value);
  capture_->call(*this, [semaphore, value](Stream& stream) { stream.signal(semaphore, value); });
}

void RecordableStream::wait(const Semaphore& semaphore, std::uint64_t value) {
  if (capture_ == nullptr) return enqueue_wait(semaphore, value);
  capture_->call(*this, [semaphore, value](Stream& stream) { stream.wait(semaphore, value); });
}

void RecordableStream::launch(PreparedKernel& prepared) {
  if (capture_ == nullptr) return enqueue_launch(prepared);
  capture_->call(*this, [&prepared](Stream& stream) { stream.launch(prepared); });
}

void RecordableStream::run(const Task& task) {
  if (capture_ == nullptr) return enqueue_run(task);
  capture_->call(*this, [task](Stream& stream) { stream.run(task); });
}

void RecordableStream::record(Event& event) {
  auto* own = dynamic_cast<RecordableEvent*>(&event);
  if (capture_ == nullptr) {
    enqueue_record(event);
    // Writes capture_ only if it is set: several threads may use an event that is part of no
    // capture.
    if (own != nullptr && !own->capture_.expired()) own->capture_.reset();
    return;
  }
  if (own == nullptr) throw BadArgument("an event of another machine");
  own->recording_ = capture_->record(*this);
  own->capture_ = capture_;
}

void RecordableStream::wait(Event& event) {
  const auto* own = dynamic_cast<RecordableEvent*>(&event);
  const auto recorded_in = own != nullptr ? own->capture_.lock() : nullptr;
  if (recorded_in == nullptr && capture_ == nullptr) return enqueue_wait(event);
  if (recorded_in == nullptr || (capture_ != nullptr && capture_ != recorded_in)) {
    throw BadArgument(
        fmt::format("{}: a captured stream waits for an event that was not recorded in its capture",
                    device().info().name));
  }
  capture_ = recorded_in;
  capture_->wait(*this, own->recording_);
}

void RecordableStream::begin_capture() {
  require_not_captured();
  capture_ = std::make_shared<RecordedCalls>(*this);
}

std::unique_ptr<Graph> RecordableStream::end_capture() {
  if (capture_ == nullptr || !capture_->began_on(*this)) {
    throw BadArgument(fmt::format("{}: no capture began on this stream", device().info().name));
  }
  const std::shared_ptr<RecordedCalls> over = capture_;
  abandon_capture();
  return over->graph();
}

void RecordableStream::abandon_capture() noexcept {
  if (capture_ == nullptr) return;
  const std::shared_ptr<RecordedCalls> over = capture_;
  for (RecordableStream* stream : over->streams()) stream->capture_.reset();
}

void RecordableStream::require_not_captured() {
  if (capture_ == nullptr) return;
  throw BadArgument(fmt::format("{}: the stream is being captured", device().info().name));
}

}  // namespace duet
