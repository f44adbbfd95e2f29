// OpenBLAS's sgemm as an engine of host devices. OpenBLAS chooses its kernels when it is loaded, by
// the CPU or by the user's OPENBLAS_CORETYPE; algorithm() names them.
#include "gemm/engine.h"

#include <cblas.h>
#include <fmt/format.h>

namespace duet {
namespace {

class OpenBlasPlan : public GemmPlan {
 public:
  OpenBlasPlan(int threads, const GemmProblem& problem, const GemmBuffers& buffers)
      : threads_(threads), problem_(problem), buffers_(buffers) {}

  void enqueue(Stream& stream) override {
    stream.run({"gemm " + name(problem_), {}, [this] { multiply(); }});
  }

  std::string algorithm() const override {
    return fmt::format("sgemm, kernels for {}, {} threads", openblas_get_corename(), threads_);
  }

 private:
  void multiply() const {
    const auto m = static_cast<blasint>(problem_.m), n = static_cast<blasint>(problem_.n),
               k = static_cast<blasint>(problem_.k);
    const bool nt = problem_.layout == Layout::nt;
    openblas_set_num_threads(threads_);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, nt ? CblasTrans : CblasNoTrans, m, n, k, 1.0f,
                reinterpret_cast<const float*>(buffers_.a.data), k,
                reinterpret_cast<const float*>(buffers_.b.data), nt ? k : n, 0.0f,
                reinterpret_cast<float*>(buffers_.c.data), n);
  }

  int threads_;
  GemmProblem problem_;
  GemmBuffers buffers_;
};

class OpenBlasEngine : public GemmEngine {
 public:
  std::string name() const override { return "openblas"; }
  std::string device_kind() const override { return "host"; }

  std::optional<Skipped> unsupported(Device&, const GemmProblem& problem) const override {
    if (problem.dtype == DType::fp32 && problem.output == DType::fp32) return std::nullopt;
    return Skipped{fmt::format("this OpenBLAS multiplies fp32, not {}", duet::name(problem.dtype))};
  }

  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                 const GemmBuffers& buffers, const Tuning&) override {
    return std::make_unique<OpenBlasPlan>(device.info().compute_units, problem, buffers);
  }
};

}  // namespace
}  // namespace duet

extern "C" void duet_register();

void duet_register() { duet::register_gemm_engine(std::make_unique<duet::OpenBlasEngine>()); }
