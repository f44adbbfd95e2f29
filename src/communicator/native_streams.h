// The user's own streams of one rank's device, as Duet's: wrapped once each.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace duet {

class NativeStreams {
 public:
  explicit NativeStreams(Device& device) : device_(device) {}

  Device& device() const { return device_; }

  // Allocates the first time it sees a handle. Throws Unavailable where the device has no native
  // streams. A handle that is used anew for a later stream of the device is as good.
  Stream& wrapped(void* native);

 private:
  Device& device_;
  std::vector<std::unique_ptr<Stream>> streams_;  // a handful: a framework has few
};

}  // namespace duet
