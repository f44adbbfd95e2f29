#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace duet {

// The user's own streams of one rank's device, each wrapped once as a Stream.
class NativeStreams {
 public:
  explicit NativeStreams(Device& device) : device_(device) {}

  Device& device() const { return device_; }

  // Allocates the first time it sees a handle, and throws then what Device::wrap() throws. A handle
  // that the runtime reuses for a later stream gets the same wrapper.
  Stream& wrapped(void* native);

 private:
  Device& device_;
  std::vector<std::unique_ptr<Stream>> streams_;  // few, so searched in order
};

}  // namespace duet
