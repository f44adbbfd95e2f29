// One problem described to cuBLASLt, and the algorithms that can run it.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/gpu/device.h"
#include "gemm/cublas/check.h"
#include "gemm/engine.h"

namespace duet::cuda {

// A configured algorithm of cuBLASLt.
struct LtAlgorithm {
  cublasLtMatmulAlgo_t algo{};
  std::uint64_t workspace_bytes = 0;
};

// "algorithm 66, tile 20, stages 35, cluster 4, swizzle 0, split-k 1, option 2".
std::string describe(const LtAlgorithm& algorithm);
bool same(const LtAlgorithm& a, const LtAlgorithm& b);

class LtProblem {
 public:
  // Makes `device` the current CUDA device, and describes the problem to cuBLASLt.
  LtProblem(GpuDevice& device, const GemmProblem& problem);

  // The library's own ranking for this workspace limit, best first, at most `count` algorithms;
  // empty if it has none.
  std::vector<LtAlgorithm> heuristics(std::uint64_t workspace_bytes, int count) const;

  // Every algorithm that the library has for these types, unconfigured.
  std::vector<cublasLtMatmulAlgo_t> all() const;

  // Whether a configured algorithm can run; sets its workspace_bytes.
  bool check(LtAlgorithm& algorithm) const;

  // Enqueues the GEMM. `workspace` has at least algorithm.workspace_bytes.
  cublasStatus_t run(const LtAlgorithm& algorithm, const GemmBuffers& buffers,
                     const Span& workspace, gpuStream_t stream) const;

  const GemmProblem& problem() const { return problem_; }

 private:
  GemmProblem problem_;
  Handle<cublasLtHandle_t, cublasLtDestroy> handle_;
  Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
  Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> a_, b_, c_;
};

}  // namespace duet::cuda
