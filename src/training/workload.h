#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `train`.
Expectation expect_training(const Record& record, const Site& site);

}  // namespace duet
