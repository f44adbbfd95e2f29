// The algorithms that the tuned engine tries: first cuBLASLt's own ranking for several workspace
// limits, then variations of the fastest.
#pragma once

#include <vector>

#include "gemm/cublas/lt_problem.h"

namespace duet::cuda {

constexpr std::uint64_t kMostWorkspace = 256ull << 20;  // bytes

// A list of distinct algorithms, none of which needs more than kMostWorkspace.
class Candidates {
 public:
  explicit Candidates(const LtProblem& problem) : problem_(problem) {}

  // Adds the library's rankings for no workspace, 32 MiB and kMostWorkspace.
  void add_heuristics();
  // Adds every algorithm of the library, unconfigured and with its largest tiles, at most 16.
  void add_all();
  // Adds variations of candidate `index`, in each of which one property differs: tile, stages,
  // cluster, swizzle, split of K or custom option.
  void add_neighbours(int index);

  int size() const { return static_cast<int>(list_.size()); }
  const LtAlgorithm& operator[](int index) const { return list_[static_cast<std::size_t>(index)]; }

 private:
  void add(const LtAlgorithm& algorithm);
  void add_if_valid(const cublasLtMatmulAlgo_t& algo);
  template <typename Value>
  void add_with(cublasLtMatmulAlgo_t algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                Value value);

  const LtProblem& problem_;
  std::vector<LtAlgorithm> list_;
};

}  // namespace duet::cuda
