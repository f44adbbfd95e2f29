// The algorithms that the tuned engine tries: first the library's own ranking for several workspace
// limits, then what its vendor's folder adds. The lists are generous, because a configuration that
// the library refuses costs only microseconds.
#pragma once

#include <vector>

#include "gemm/lt/problem.h"

namespace duet::DUET_GPU {

// A list of distinct algorithms, none of which needs more than kMostWorkspace.
class Candidates {
 public:
  explicit Candidates(const LtProblem& problem) : problem_(problem) {}

  // Adds the library's rankings for no workspace, kUsualWorkspace and kMostWorkspace. The first is
  // the one that is taken without tuning.
  void add_heuristics();

  // Of the vendor's folder. They add nothing where the rankings have all that the library can run.
  //
  // Adds every algorithm of the library, unconfigured and with its largest tiles.
  void add_all();
  // Adds variations of candidate `index`, in each of which one property differs.
  void add_neighbours(int index);

  int size() const { return static_cast<int>(list_.size()); }
  const LtAlgorithm& operator[](int index) const { return list_[static_cast<std::size_t>(index)]; }

  // Adds an algorithm that the library accepts for the problem, as check() says.
  void add_if_valid(const ltMatmulAlgo_t& algo);

 private:
  void add(const LtAlgorithm& algorithm);

  const LtProblem& problem_;
  std::vector<LtAlgorithm> list_;
};

}  // namespace duet::DUET_GPU
