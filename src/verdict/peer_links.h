// The bounds of copies between devices, from the links of the device spec and of the machine.
#pragma once

#include <cstddef>
#include <string>

#include "verdict/expectation.h"

namespace duet {

struct Bound {
  double gb_per_s = 0;  // 0: there is no bound
  std::string words;    // "the 450 GB/s of 18 x NVLink", or why there is no bound
};

// The bound of a copy between devices. The site must have a spec.
Bound peer_bound(const Record& record, const Site& site);

// The rate at which one device can send to so many of its peers at once, or to all if it has fewer.
// No bound if the devices have no links of their own. The site must have a spec.
Bound sending_bound(const Site& site, std::size_t peers);

// A text about links between the devices of the copy that are missing compared with the spec: they
// explain a low figure. "" if none is missing.
std::string missing_links(const Record& record, const Site& site);

}  // namespace duet
