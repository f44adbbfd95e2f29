#pragma once

#include <memory>

#include "collectives/session/lanes.h"

namespace duet {

// A rank's lanes. After a failure a lane may wait for ever, where the program destroyed the stream
// that had the rest of a call: later plans get new lanes.
class RankLanes {
 public:
  RankLanes(Device& device, CopyLanes copying)
      : device_(device), lanes_(std::make_unique<SideStreams>(device, copying)) {}

  // The lanes of a plan that is made after `failures` failures.
  SideStreams& after(int failures) {
    if (failures != failures_) lanes_ = std::make_unique<SideStreams>(device_, lanes_->copying());
    failures_ = failures;
    return *lanes_;
  }

 private:
  Device& device_;
  int failures_ = 0;
  std::unique_ptr<SideStreams> lanes_;
};

}  // namespace duet
