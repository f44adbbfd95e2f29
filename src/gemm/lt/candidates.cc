#include "gemm/lt/candidates.h"

#include <algorithm>

namespace duet::DUET_GPU {

void Candidates::add(const LtAlgorithm& algorithm) {
  if (algorithm.workspace_bytes > kMostWorkspace) return;
  const bool known = std::any_of(list_.begin(), list_.end(),
                                 [&](const LtAlgorithm& other) { return same(algorithm, other); });
  if (!known) list_.push_back(algorithm);
}

void Candidates::add_if_valid(const ltMatmulAlgo_t& algo) {
  LtAlgorithm algorithm{algo, 0};
  if (problem_.check(algorithm)) add(algorithm);
}

void Candidates::add_heuristics() {
  for (std::uint64_t workspace : {kUsualWorkspace, std::uint64_t{0}, kMostWorkspace}) {
    for (const LtAlgorithm& algorithm : problem_.heuristics(workspace, kRanking)) add(algorithm);
  }
}

}  // namespace duet::DUET_GPU
