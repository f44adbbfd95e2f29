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

}  // namespace duet
