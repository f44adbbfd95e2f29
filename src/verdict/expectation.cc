#include "verdict/expectation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace duet {

const Record& devices_of(const Record& machine) {
  static const Record none = Record::array();
  const auto found = machine.find("devices");
  return found != machine.end() && found->is_array() ? *found : none;
}

double cache_bytes(const Site& site) {
  const Record& devices = devices_of(site.machine);
  const double told = devices.empty() ? 0.0 : devices[0].value("cache_bytes", 0.0);
  return std::max(told, site.spec->cache_bytes);
}

}  // namespace duet
