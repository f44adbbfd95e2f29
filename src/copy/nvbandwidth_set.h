// nvbandwidth's tests within one node as cases of Duet. The tests of copies one at a time have the
// axes that `duet import` gives nvbandwidth's output; the others are lists of transfers with the
// same traffic, of which Duet's figure is the total.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

inline constexpr std::uint64_t kNvbandwidthBytes = 512ull << 20;  // its default buffer size

struct NvbandwidthOptions {
  std::vector<std::string> tests;  // its names
  std::uint64_t bytes = kNvbandwidthBytes;
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
};

// The names of `set`: "nvbandwidth" is all of its tests that Duet has, a name of a test that one.
// Throws UsageError for other names.
std::vector<std::string> nvbandwidth_tests(const std::string& set);

// Tests that need more devices than the machine has give no cases.
Benchmark nvbandwidth_benchmark(Machine& machine, const NvbandwidthOptions& options,
                                const std::function<bool()>& stop);

}  // namespace duet
