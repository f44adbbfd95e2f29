// The algorithms that the tuned engine tries: the library's ranking under several limits first,
// then variations of what has proved fast.
#pragma once

#include <vector>

#include "gemm/cublas/lt_problem.h"

namespace duet::cuda {

constexpr std::uint64_t kMostWorkspace = 256ull << 20;

// Without repetition; no algorithm needs more than kMostWorkspace.
class Candidates {
 public:
  explicit Candidates(const LtProblem& problem) : problem_(problem) {}

  // The ranking without workspace, with 32 MiB and with all of it.
  void add_heuristics();
  // Every algorithm of the library, by itself and with each of its tiles.
  void add_all();
  // One property of `index` changed at a time: tile, stages, cluster, swizzle, split of K, option.
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
