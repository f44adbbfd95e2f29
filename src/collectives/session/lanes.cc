#include "collectives/session/lanes.h"

#include <utility>

#include "device/engine_streams.h"

namespace duet {

namespace {

std::unique_ptr<Stream> make_lane(Device& device, Executor executor) {
  const StreamOptions options{device.info().priorities - 1};
  auto* const engines = dynamic_cast<EngineStreams*>(&device);
  if (executor == Executor::sdma && engines != nullptr) {
    if (auto lane = engines->make_engine_stream(options)) return lane;
  }
  return device.make_stream(options);
}

}  // namespace

SideStreams::SideStreams(Device& device, CopyLanes copying)
    : device_(device), copying_(copying), begin_(device.make_event(EventUse::order)) {
  for (int i = 0; i < copying.count; ++i) {
    lanes_.push_back({make_lane(device, copying.executor), device.make_event(EventUse::order)});
  }
}

SideStreams& SideStreams::copying_out() {
  if (copying_out_ == nullptr) {
    const CopyLanes lanes{copying_.in_order ? 1 : copying_.count, copying_.in_order};
    copying_out_ = std::make_unique<SideStreams>(device_, lanes);
  }
  return *copying_out_;
}

void SideStreams::fork(Stream& main, int count) {
  if (count == 0) return;
  main.record(*begin_);
  for (int i = 0; i < count; ++i) at(i).wait(*begin_);
}

void SideStreams::join(Stream& main, int count) {
  for (int i = 0; i < count; ++i) {
    LaneStream& lane = lanes_[static_cast<std::size_t>(i)];
    lane.stream->record(*lane.end);
    main.wait(*lane.end);
  }
}

CopySteps::CopySteps(Device& device, int lanes, bool in_order) : in_order_(in_order) {
  for (int lane = 0; lane < lanes; ++lane) started_.push_back(device.make_event(EventUse::order));
}

int CopySteps::lane_for(int step) const {
  const int number = in_order_ ? static_cast<int>(steps_.size()) : step - 1;
  return number % lanes();
}

void CopySteps::add(CopyStep step) {
  steps_.push_back({step.lane,
                    {{}, std::move(step.waits)},
                    std::move(step.copies),
                    {std::move(step.signals), {}}});
}

void CopySteps::enqueue(Stream& main, SideStreams& lanes, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const PreparedStep& step = steps_[i];
    Stream& stream = step.lane == 0 ? main : lanes.at(step.lane - 1);
    const auto other = [&](const PreparedStep& neighbour) {
      return in_order_ && neighbour.lane != step.lane;
    };
    if (i > 0 && other(steps_[i - 1])) {
      stream.wait(*started_[static_cast<std::size_t>(steps_[i - 1].lane)]);
    }
    if (!step.before.waits.empty()) stream.handshake(step.before);
    if (i + 1 < steps_.size() && other(steps_[i + 1])) {
      stream.record(*started_[static_cast<std::size_t>(step.lane)]);
    }
    for (const Copy& copy : step.copies) stream.copy(copy);
    if (!step.after.signals.empty()) stream.handshake(step.after);
  }
}

}  // namespace duet
