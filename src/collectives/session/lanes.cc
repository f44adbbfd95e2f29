#include "collectives/session/lanes.h"

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
  for (int i = 0; i < copying.count; ++i) add_lane(copying.executor);
}

void SideStreams::add_lane(Executor executor) {
  lanes_.push_back({make_lane(device_, executor), device_.make_event(EventUse::order)});
}

Stream& SideStreams::at(int lane) {
  while (static_cast<int>(lanes_.size()) <= lane) add_lane(Executor::dma);
  return *lanes_[static_cast<std::size_t>(lane)].stream;
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

}  // namespace duet
