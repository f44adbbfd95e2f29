#pragma once

#include <string>
#include <vector>

#include "gemm/engine.h"

namespace duet {

// Throws UsageError unless `name`, the value of --gemm, is "" or an engine of this kind of device.
void require_gemm_engine(const std::string& device_kind, const std::string& name);

// The device's first engine, or that of a name, that can multiply all of the problems. Throws
// Unavailable with the reason of the last one that cannot; `what` begins the message.
GemmEngine& first_gemm_engine(Device& device, const std::string& name,
                              const std::vector<GemmProblem>& problems, const std::string& what);

}  // namespace duet
