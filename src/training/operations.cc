#include "training/operations.h"

#include <fmt/format.h>

#include "core/error.h"
#include "training/host/operations.h"

namespace duet {

std::unique_ptr<Operations> make_operations(Device& device) {
  const DeviceInfo& info = device.info();
  if (info.kind == "host" || info.kind == "sim") return make_cpu_operations(device);
  throw Unavailable(fmt::format("{}: training runs on host and simulated devices", info.name));
}

}  // namespace duet
