#pragma once

#include <map>
#include <string>
#include <string_view>

namespace duet {

// The contents of specs/devices, embedded at build time, by file name without ending ("h200-sxm").
// A device spec holds all that is known of a device model: the maker's figures and what verdicts
// expect (verdict/device_spec.h), and what its simulation takes besides
// (device/sim/platform_composition.h).
const std::map<std::string, std::string_view>& device_spec_texts();

}  // namespace duet
