#pragma once

#include "workload/workload.h"

namespace duet {

// RecordKind::rates of `moe`: "tokens_per_s" of all ranks, and "tflops" of the experts.
Rates moe_rates(const Cost& cost, double seconds);

}  // namespace duet
