#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `train`.
Expectation expect_training(const Record& record, const Site& site);

// RecordKind::rates of `train` and `train_run`: "tokens_per_s", or "samples_per_s" of models
// without tokens, and "tflops".
Rates training_rates(const Cost& cost, double seconds);

}  // namespace duet
