// Which GPUs a --device argument names: "" is all of them, "0,2" these.
#pragma once

#include <string>
#include <vector>

namespace duet::gpu {

// The numbers that are written; empty if nothing is. Throws UsageError.
std::vector<int> parse_selection(const std::string& kind, const std::string& argument);

// Of `count` > 0 devices those that are named, or all. Throws UsageError.
std::vector<int> select_devices(const std::string& kind, const std::vector<int>& named, int count);

}  // namespace duet::gpu
