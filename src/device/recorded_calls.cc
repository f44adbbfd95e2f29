#include "device/recorded_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "device/recordable_stream.h"

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

}  // namespace duet
