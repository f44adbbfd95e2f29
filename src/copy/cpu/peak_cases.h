#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "copy/cases.h"

namespace duet {

// Bytes of a CPU's copy peak: far more than its cache has.
std::int64_t copy_peak_bytes(const DeviceInfo& info);

// The copy peak's size, where the device is a CPU, all `sizes` are smaller, and two buffers of that
// size take at most half of its memory.
std::optional<std::uint64_t> size_beyond_cache(const DeviceInfo& info,
                                               const std::vector<std::uint64_t>& sizes);

// The case of the copy peak of a machine of host devices, by as many threads as the executor uses
// on one of them: one for `dma`, one per core for `kernel`. Always measured in mode adaptive. The
// machine must outlive the case. If it cannot run it throws OutOfMemory.
Case copy_peak_case(Machine& machine, const std::string& device_name, Executor executor,
                    const std::function<bool()>& stop);

// The cases of the CPU's copy peak: one per executor of the options for which `copies`, the cases
// of `duet copy`, have a copy within a host device that is as large as the peak's.
std::vector<Case> copy_peak_cases(Machine& machine, const CopyOptions& options,
                                  const std::vector<Case>& copies,
                                  const std::function<bool()>& stop);

}  // namespace duet
