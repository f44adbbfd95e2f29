// One problem described to the library, and the algorithms that can run it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/engine.h"
#include "gemm/lt/vendor.h"

namespace duet::DUET_GPU {

constexpr std::uint64_t kMostWorkspace = 256ull << 20;  // bytes, that tuning may take

class LtProblem {
 public:
  // Makes `device` current, and describes the problem to the library. Throws Unavailable where the
  // library cannot be opened or has no such type.
  LtProblem(GpuDevice& device, const GemmProblem& problem);

  // The library's own ranking for this workspace limit, best first, at most `count` algorithms;
  // empty if it has none.
  std::vector<LtAlgorithm> heuristics(std::uint64_t workspace_bytes, int count) const;

  // Whether a configured algorithm can run; sets its workspace_bytes. The vendor's folder has it.
  bool check(LtAlgorithm& algorithm) const;

  // Enqueues the GEMM. `workspace` has at least algorithm.workspace_bytes.
  ltStatus_t run(const LtAlgorithm& algorithm, const GemmBuffers& buffers, const Span& workspace,
                 gpuStream_t stream) const;

  const GemmProblem& problem() const { return problem_; }
  const LtTypes& types() const { return types_; }
  ltHandle_t handle() const { return handle_.get(); }

 private:
  GemmProblem problem_;
  LtTypes types_;
  Handle<ltHandle_t, ltDestroy> handle_;
  Handle<ltMatmulDesc_t, ltMatmulDescDestroy> operation_;
  Handle<ltMatrixLayout_t, ltMatrixLayoutDestroy> a_, b_, c_;
};

inline DType type_of_a(const GemmProblem& problem) {
  return problem.a_is_e5m2 ? DType::fp8_e5m2 : problem.dtype;
}

template <typename Value>
void set(ltMatmulDesc_t operation, ltMatmulDescAttributes_t attribute, const Value& value) {
  DUET_LT_CHECK(ltMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
}

template <typename Value>
void prefer(ltMatmulPreference_t preference, ltMatmulPreferenceAttributes_t attribute,
            const Value& value) {
  DUET_LT_CHECK(ltMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
}

}  // namespace duet::DUET_GPU
