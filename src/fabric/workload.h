#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `fabric`.
Expectation expect_fabric(const Record& record, const Site& site);

}  // namespace duet
