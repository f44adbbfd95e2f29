#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `layer`. The bound is the multiplication alone, as the record has it.
Expectation expect_layer(const Record& record, const Site& site);

}  // namespace duet
