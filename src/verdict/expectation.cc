#include "verdict/expectation.h"

#include <algorithm>

namespace duet {

double cache_bytes(const Site& site) {
  const std::vector<DeviceInfo>& devices = site.machine.devices;
  const double told = devices.empty() ? 0.0 : static_cast<double>(devices.front().cache_bytes);
  return std::max(told, site.spec->cache_bytes);
}

}  // namespace duet
