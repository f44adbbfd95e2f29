// In which order works that run at once are enqueued (the ConCCL paper's sections V-C and VII-B).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gemm/problem.h"

namespace duet {

// One of several works that run at once.
struct WorkNeed {
  std::string name;
  double workgroups = 0;  // blocks of its kernels; 0: by copy engines
};

// The order in which to enqueue them, as places in `works`: by rising need, equal ones as they
// come. What needs little would wait behind what takes every unit; the other way round both run.
std::vector<std::size_t> order_by_need(const std::vector<WorkNeed>& works);

// Workgroups of a GEMM in tiles of 128 x 256, which is what vendors' libraries use for large ones.
double workgroups(const GemmProblem& problem);

}  // namespace duet
