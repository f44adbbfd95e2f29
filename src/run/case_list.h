// What a run would measure.
#pragma once

#include <ostream>
#include <vector>

#include "run/runner.h"

namespace duet {

// A line for each case ("gemm on host, onednn, 512 x 512 x 512 fp32 nn"), then how many there are
// and how long those on real devices may take: by the modes' own times, what is usual for
// preparation, and, on CPUs, the FLOP of GEMMs and training steps.
void print_cases(const std::vector<Job>& jobs, std::ostream& out);

}  // namespace duet
