#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// The name in Cost::more of the grid's points, which an iteration updates.
inline constexpr const char* kPoints = "points";

// RecordKind::expect of `halo`.
Expectation expect_halo(const Record& record, const Site& site);

}  // namespace duet
