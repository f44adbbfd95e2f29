#pragma once

#include <map>
#include <string>
#include <string_view>

namespace duet {

// The texts of specs/devices by file name, "h200-sxm". A device spec holds all that is known of a
// device model: what its maker states and what verdicts expect of it (verdict/device_spec.h), and
// what its simulation takes besides (device/sim/platform_composition.h).
const std::map<std::string, std::string_view>& device_spec_texts();

}  // namespace duet
