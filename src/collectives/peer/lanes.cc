// Forking and joining by events.
#include "collectives/peer/lanes.h"

namespace duet {

Lanes::Lanes(Device& device, CopyLanes copying)
    : device_(device), copying_(copying), begin_(device.make_event(EventUse::order)) {
  for (int i = 0; i < copying.count; ++i) {
    lanes_.push_back(
        {device.make_stream({device.info().priorities - 1}), device.make_event(EventUse::order)});
  }
}

Lanes& Lanes::draining() {
  if (draining_ == nullptr) {
    const CopyLanes lanes{copying_.in_order ? 1 : copying_.count, copying_.in_order};
    draining_ = std::make_unique<Lanes>(device_, lanes);
  }
  return *draining_;
}

void Lanes::fork(Stream& main, int count) {
  if (count == 0) return;
  main.record(*begin_);
  for (int i = 0; i < count; ++i) at(i).wait(*begin_);
}

void Lanes::join(Stream& main, int count) {
  for (int i = 0; i < count; ++i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    lane.stream->record(*lane.end);
    main.wait(*lane.end);
  }
}

}  // namespace duet
