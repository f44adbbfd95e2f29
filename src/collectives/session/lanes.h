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

  Stream& at(int lane) { return *lanes_.at(static_cast<std::size_t>(lane)).stream; }

  // Further lanes for copies out of staging slots: one where copies go in order, else as many as
  // copy. All at() of them copy. Made by the first call, which is in planning.
  SideStreams& copying_out();

  // Later work of the first `count` lanes starts after the earlier work of `main`.
  void fork(Stream& main, int count);
  // Later work of `main` starts after all earlier work of these lanes.
  void join(Stream& main, int count);

 private:
  struct LaneStream {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> end;
  };

  Device& device_;
  CopyLanes copying_;
  std::unique_ptr<Event> begin_;
  std::vector<LaneStream> lanes_;
  std::unique_ptr<SideStreams> copying_out_;
};

}  // namespace duet
