// The bound of copies between devices: what their links carry, by what is promised and by the links
// that the journal tells of.
#pragma once

#include <string>

#include "verdict/expectation.h"

namespace duet {

struct Bound {
  double gb_per_s = 0;  // 0: none
  std::string words;    // "the 450 GB/s of 18 x NVLink"; why there is none
};

Bound peer_bound(const Record& record, const Site& site);

// What one device can send to all its peers at once, or, `to_one`, to one of them. No bound where
// devices have no links of their own.
Bound sending_bound(const Site& site, bool to_one);

// Links that are fewer than promised, in words: they explain a low figure at once. "" if none is
// missing between the devices of the copy.
std::string missing_links(const Record& record, const Site& site);

}  // namespace duet
