// OpenBLAS's sgemm as an engine of host devices. OpenBLAS chooses its kernels when it is loaded, by
// the CPU or by the user's OPENBLAS_CORETYPE; algorithm() names them.
#include <cblas.h>
#include <fmt/format.h>

#include "gemm/cpu/sgemm_plan.h"

namespace duet {
namespace {

int sgemm(const SgemmCall& call) {
  const auto size = [](std::int64_t elements) { return static_cast<blasint>(elements); };
  cblas_sgemm(CblasRowMajor, call.a_transposed ? CblasTrans : CblasNoTrans,
              call.b_transposed ? CblasTrans : CblasNoTrans, size(call.m), size(call.n),
              size(call.k), 1.0f, call.a, size(call.a_step), call.b, size(call.b_step), call.beta,
              call.c, size(call.c_step));
  return 0;
}

class OpenBlasEngine : public GemmEngine {
 public:
  std::string name() const override { return "openblas"; }
  std::string device_kind() const override { return "host"; }

  std::optional<Skipped> unsupported(Device&, const GemmProblem& problem) const override {
    if (problem.epilogue != Epilogue::none) return no_epilogue(*this);
    if (problem.dtype == DType::fp32 && problem.output == DType::fp32) return std::nullopt;
    return Skipped{fmt::format("this OpenBLAS multiplies fp32, not {}", duet::name(problem.dtype))};
  }

  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem, const GemmBuffers&,
                                 const Tuning& tuning) override {
    const std::string algorithm = fmt::format("sgemm, kernels for {}", openblas_get_corename());
    return plan_sgemm({sgemm, "cblas_sgemm", algorithm, openblas_set_num_threads},
                      device.info().compute_units, problem, tuning);
  }
};

}  // namespace
}  // namespace duet

extern "C" void duet_register();

void duet_register() { duet::register_gemm_engine(std::make_unique<duet::OpenBlasEngine>()); }
