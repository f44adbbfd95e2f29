#include "collectives/nodes/copy_steps.h"

#include <utility>

namespace duet {

CopySteps::CopySteps(Device& device, int lanes, bool in_order) : in_order_(in_order) {
  for (int lane = 0; lane < lanes; ++lane) started_.push_back(device.make_event(EventUse::order));
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
