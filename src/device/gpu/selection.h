#pragma once

#include <string>
#include <vector>

namespace duet::gpu {

// Parses the device numbers of a --device argument, such as "0,2"; an empty argument gives an empty
// list, which means all devices. "0:2" gives device 0 twice: two ranks share it. Throws UsageError.
std::vector<int> parse_selection(const std::string& kind, const std::string& argument);

// The devices to open: those in `named`, or all if `named` is empty. There are `count` > 0 devices.
// Throws UsageError.
std::vector<int> select_devices(const std::string& kind, const std::vector<int>& named, int count);

}  // namespace duet::gpu
