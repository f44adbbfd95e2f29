// cublasGemmEx as two engines: called as torch.matmul calls it, and with the library's autotuning.
#include <algorithm>
#include <limits>

#include "device/gpu/device.h"
#include "gemm/cublas/engines.h"
#include "gemm/cublas/handle.h"
#include "gemm/cublas/types.h"
#include "gemm/engine.h"

namespace duet::cuda {
namespace {

constexpr double kDeadlineSeconds = 120;

class GemmExPlan : public GemmPlan {
 public:
  GemmExPlan(GpuDevice& device, const GemmProblem& problem, const std::optional<Span>& workspace)
      : problem_(problem), handle_(device, workspace) {}

  void set_algorithm(cublasGemmAlgo_t algorithm) { algorithm_ = algorithm; }

  // Sets the number of SMs for which the library chooses its algorithm; 0: all.
  void aim_at(int units) {
    units_ = units;
    DUET_CUBLAS_CHECK(cublasSetSmCountTarget(handle_.get(), units));
  }

  void enqueue(Stream& stream, const GemmBuffers& buffers) override {
    const ComputeTypes types = compute_types(problem_.dtype);
    const Scales scale = scales(problem_);
    const cudaDataType_t in = *data_type(problem_.dtype), out = *data_type(problem_.output);
    DUET_CUBLAS_CHECK(cublasGemmEx_64(handle_.on(stream), operation_b(problem_),
                                      operation_a(problem_), problem_.n, problem_.m, problem_.k,
                                      scale.alpha, buffers.b.data, in, leading_b(problem_),
                                      buffers.a.data, in, row_step_of_a(problem_), scale.beta,
                                      buffers.c.data, out, problem_.n, types.compute, algorithm_));
  }

  std::uint64_t workspace_bytes() const override { return handle_.own_bytes(); }

  std::string algorithm() const override {
    const char* call = algorithm_ == CUBLAS_GEMM_AUTOTUNE ? "cublasGemmEx, CUBLAS_GEMM_AUTOTUNE"
                                                          : "cublasGemmEx, CUBLAS_GEMM_DEFAULT";
    return units_ > 0 ? fmt::format("{}, for {} SMs", call, units_) : call;
  }

 private:
  GemmProblem problem_;
  PlanHandle handle_;
  cublasGemmAlgo_t algorithm_ = CUBLAS_GEMM_DEFAULT;
  int units_ = 0;
};

// The shortest of several calls on an idle stream; the first call loads the kernel.
double seconds_of(GemmExPlan& plan, const GemmBuffers& buffers, Device& device, Stream& stream) {
  constexpr int kCalls = 4;
  double least = std::numeric_limits<double>::infinity();
  const auto begin = device.make_event(), end = device.make_event();
  for (int i = 0; i < kCalls; ++i) {
    stream.record(*begin);
    plan.enqueue(stream, buffers);
    stream.record(*end);
    stream.synchronize(kDeadlineSeconds);
    least = std::min(least, end->seconds_since(*begin));
  }
  return least;
}

// Chooses between the library's algorithm for all SMs and the one for the `units` SMs of the
// stream, by timing both. Either can be faster (H200, 132 SMs):
//   shape                  SMs   for all SMs   for these SMs
//   16384 x 16384 x 8192   116   6.9 ms        7.2 ms
//   8192 cubed             124   1.8 ms        1.6 ms
void choose_aim(GemmExPlan& plan, const GemmBuffers& buffers, Device& device, Stream& stream,
                int units) {
  const double for_all = seconds_of(plan, buffers, device, stream);
  plan.aim_at(units);
  if (seconds_of(plan, buffers, device, stream) > for_all) plan.aim_at(0);
}

class GemmExEngine : public GemmEngine {
 public:
  explicit GemmExEngine(bool autotune) : autotune_(autotune) {}

  std::string name() const override { return autotune_ ? "cublas-autotune" : "cublas"; }
  std::string device_kind() const override { return "cuda"; }

  std::optional<Skipped> unsupported(Device&, const GemmProblem& problem) const override {
    if (problem.epilogue != Epilogue::none) return no_epilogue(*this);
    if (problem.dtype == DType::fp8_e4m3) return Skipped{"cublasGemmEx does not multiply fp8"};
    if (problem.dtype == DType::int8 && (problem.k % 4 != 0 || problem.n % 4 != 0)) {
      return Skipped{"cublasGemmEx wants sides in multiples of 4 for int8"};
    }
    return std::nullopt;
  }

  // Makes one call, in which the library chooses its algorithm (by measuring, if it autotunes) and
  // loads its kernel.
  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                 const GemmBuffers& buffers, const Tuning& tuning) override {
    auto plan =
        std::make_unique<GemmExPlan>(dynamic_cast<GpuDevice&>(device), problem, tuning.workspace);
    if (autotune_) plan->set_algorithm(CUBLAS_GEMM_AUTOTUNE);
    const auto stream = device.make_stream({0, tuning.units});
    plan->enqueue(*stream, buffers);
    stream->synchronize(kDeadlineSeconds);
    if (tuning.units > 0) choose_aim(*plan, buffers, device, *stream, tuning.units);
    return plan;
  }

 private:
  bool autotune_;
};

}  // namespace

void register_cublas_engines() {
  register_gemm_engine(std::make_unique<GemmExEngine>(false));
  register_gemm_engine(std::make_unique<GemmExEngine>(true));
}

}  // namespace duet::cuda
