// The lanes of a plan are the streams on which it copies: lane 0 is the caller's stream, the others
// are side streams.
#pragma once

#include <memory>
#include <vector>

#include "collectives/session/copy_lanes.h"
#include "device/device.h"

namespace duet {

// Streams that fork from the caller's and join it again.
class SideStreams {
 public:
  // The streams that copy besides the caller's, and one more for a kernel. They have the device's
  // highest priority, so that what they run never waits for compute units behind a kernel of many
  // waves.
  SideStreams(Device& device, CopyLanes copying);

  CopyLanes copying() const { return copying_; }

  // Lanes behind the copying ones copy too, out of staging slots, or wait. They are made by the
  // first call for them, which is in planning.
  Stream& at(int lane);

  // Later work of the first `count` lanes starts after the earlier work of `main`.
  void fork(Stream& main, int count);
  // Later work of `main` starts after all earlier work of these lanes.
  void join(Stream& main, int count);

 private:
  struct LaneStream {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> end;
  };

  void add_lane(Executor executor);

  Device& device_;
  CopyLanes copying_;
  std::unique_ptr<Event> begin_;
  std::vector<LaneStream> lanes_;
};

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
