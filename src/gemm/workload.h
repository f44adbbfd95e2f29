#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `gemm`, `gemm_search` and `gemm_grouped`.
Expectation expect_gemm(const Record& record, const Site& site);

// The peak that GEMMs of a type are held against: RecordKind::peak.
std::string gemm_peak_name(std::string_view dtype);

}  // namespace duet
