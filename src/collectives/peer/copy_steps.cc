// Steps in order: each lane tells the next when it has got through its flags.
#include "collectives/peer/copy_steps.h"

namespace duet {

CopySteps::CopySteps(Device& device, int lanes, bool in_order) : in_order_(in_order) {
  for (int lane = 0; lane < lanes; ++lane) started_.push_back(device.make_event(EventUse::order));
}

void CopySteps::enqueue(Stream& main, Lanes& lanes, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const CopyStep& step = steps_[i];
    Stream& stream = step.lane == 0 ? main : lanes.at(step.lane - 1);
    const auto other = [&](const CopyStep& neighbour) {
      return in_order_ && neighbour.lane != step.lane;
    };
    if (i > 0 && other(steps_[i - 1])) {
      stream.wait(*started_[static_cast<std::size_t>(steps_[i - 1].lane)]);
    }
    if (!step.waits.empty()) stream.meet({{}, step.waits});
    if (i + 1 < steps_.size() && other(steps_[i + 1])) {
      stream.record(*started_[static_cast<std::size_t>(step.lane)]);
    }
    for (const Copy& copy : step.copies) stream.copy(copy);
    if (!step.signals.empty()) stream.meet({step.signals, {}});
  }
}

}  // namespace duet
