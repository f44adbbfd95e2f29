// Streams of a rank's own beside the caller's: they fork from it and join it again.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace duet {

// How many streams copy at a time, the caller's among them, and whether in a fixed order.
struct CopyLanes {
  int count = 1;
  bool in_order = false;
};

class Lanes {
 public:
  // As many streams of the device as copy besides the caller's, and one more for a kernel. They are
  // of its highest priority: what they run never waits for compute units behind a kernel of many
  // waves.
  Lanes(Device& device, CopyLanes copying);

  CopyLanes copying() const { return copying_; }

  Stream& at(int lane) { return *lanes_.at(static_cast<std::size_t>(lane)).stream; }

  // Others of the kind, for what comes out of slots: all at() of them copy. Made at the first call,
  // in planning; one where copies go in order, else as many as copy.
  Lanes& draining();

  // Work that the first `count` lanes get from here on starts after what `main` has got so far.
  void fork(Stream& main, int count);
  // Work that `main` gets from here on starts after all that they have got.
  void join(Stream& main, int count);

 private:
  struct Lane {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> end;
  };

  Device& device_;
  CopyLanes copying_;
  std::unique_ptr<Event> begin_;
  std::vector<Lane> lanes_;
  std::unique_ptr<Lanes> draining_;
};

}  // namespace duet
