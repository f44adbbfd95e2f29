// OpenBLAS's sgemm as an engine of host devices. OpenBLAS chooses its kernels when it is loaded, by
// the CPU or by the user's OPENBLAS_CORETYPE; algorithm() names them.
#include "gemm/engine.h"

#include <cblas.h>
#include <fmt/format.h>

namespace duet {
namespace {

class OpenBlasPlan : public GemmPlan {
 public:
  OpenBlasPlan(int threads, const GemmProblem& problem) : threads_(threads), problem_(problem) {}

  void enqueue(Stream& stream, const GemmBuffers& buffers) override {
    stream.run({"gemm " + name(problem_), {}, [this, buffers] { multiply(buffers); }});
  }

  std::string algorithm() const override {
    return fmt::format("sgemm, kernels for {}, {} threads", openblas_get_corename(), threads_);
  }

 private:
  void multiply(const GemmBuffers& buffers) const {
    const auto m = static_cast<blasint>(problem_.m), n = static_cast<blasint>(problem_.n),
               k = static_cast<blasint>(problem_.k);
    const bool nt = problem_.layout == Layout::nt, tn = problem_.layout == Layout::tn;
    openblas_set_num_threads(threads_);
    cblas_sgemm(CblasRowMajor, tn ? CblasTrans : CblasNoTrans, nt ? CblasTrans : CblasNoTrans, m, n,
                k, 1.0f, reinterpret_cast<const float*>(buffers.a.data), tn ? m : k,
                reinterpret_cast<const float*>(buffers.b.data), nt ? k : n,
                problem_.accumulate ? 1.0f : 0.0f, reinterpret_cast<float*>(buffers.c.data), n);
  }

  int threads_;
  GemmProblem problem_;
};

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
                                 const Tuning&) override {
    return std::make_unique<OpenBlasPlan>(device.info().compute_units, problem);
  }
};

}  // namespace
}  // namespace duet

extern "C" void duet_register();

void duet_register() { duet::register_gemm_engine(std::make_unique<duet::OpenBlasEngine>()); }
