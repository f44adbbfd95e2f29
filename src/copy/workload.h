#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `copy`.
Expectation expect_copy(const Record& record, const Site& site);

// The peak of copies by an executor within a device: RecordKind::peak.
std::string copy_peak_name(std::string_view executor);

}  // namespace duet
