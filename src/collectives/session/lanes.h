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

// A lane waits for semaphores, which sets them back to 0, copies, and signals semaphores. Lane 0 is
// the caller's stream, lane i > 0 is SideStreams::at(i - 1).
struct CopyStep {
  int lane = 0;
  std::vector<Semaphore> waits;
  std::vector<Copy> copies;
  std::vector<Semaphore> signals;
};

class CopySteps {
 public:
  // `lanes` counts the caller's stream. In order: a step begins its copies only after the step
  // before it has, whichever lane it is on. Behind one link copy engines run one copy after the
  // other, and lanes only hide the time between two copies. The order of copies must then be fixed:
  // ranks that push in different orders would push to the same receiver at the same time, each at
  // half the rate.
  CopySteps(Device& device, int lanes, bool in_order);

  int lanes() const { return static_cast<int>(started_.size()); }
  bool in_order() const { return in_order_; }
  // The lane of the next step, a copy to the `step`th rank after this one (from 1): in order, one
  // lane after the other; else each rank has its lane.
  int lane_for(int step) const;
  void add(CopyStep step);

  std::size_t size() const { return steps_.size(); }

  void enqueue(Stream& main, SideStreams& lanes) { enqueue(main, lanes, 0, size()); }
  // Enqueues only the steps [begin, end); a call must enqueue all steps, in order.
  void enqueue(Stream& main, SideStreams& lanes, std::size_t begin, std::size_t end);

 private:
  struct PreparedStep {
    int lane;
    Handshake before;  // its waits
    std::vector<Copy> copies;
    Handshake after;  // its signals
  };

  bool in_order_;
  std::vector<PreparedStep> steps_;
  std::vector<std::unique_ptr<Event>> started_;  // by lane: its last step begins to copy
};

}  // namespace duet
