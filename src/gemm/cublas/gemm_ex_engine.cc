// cublasGemmEx as engines: as torch.matmul calls it, and with the library's own autotuning.
#include "device/gpu/device.h"
#include "gemm/cublas/check.h"
#include "gemm/cublas/engines.h"
#include "gemm/cublas/types.h"
#include "gemm/engine.h"

namespace duet::cuda {
namespace {

constexpr std::uint64_t kWorkspace = 32ull << 20;  // PyTorch's on Hopper
constexpr double kDeadlineSeconds = 120;

class GemmExPlan : public GemmPlan {
 public:
  GemmExPlan(GpuDevice& device, const GemmProblem& problem, const GemmBuffers& buffers)
      : problem_(problem), buffers_(buffers), workspace_(device.allocate(kWorkspace)) {
    device.use();
    cublasHandle_t handle = nullptr;
    DUET_CUBLAS_CHECK(cublasCreate(&handle));
    handle_.reset(handle);
  }

  void set_algorithm(cublasGemmAlgo_t algorithm) { algorithm_ = algorithm; }

  void enqueue(Stream& stream) override {
    const ComputeTypes types = compute_types(problem_.dtype);
    const Scales scale = scales(problem_.dtype);
    const cudaDataType_t in = *data_type(problem_.dtype), out = *data_type(problem_.output);
    // Setting the stream takes the library back to its own workspace: hence both, every time.
    DUET_CUBLAS_CHECK(cublasSetStream(handle_.get(), static_cast<cudaStream_t>(stream.native())));
    DUET_CUBLAS_CHECK(
        cublasSetWorkspace(handle_.get(), workspace_.span().data, workspace_.bytes()));
    DUET_CUBLAS_CHECK(cublasGemmEx_64(
        handle_.get(), operation_b(problem_), CUBLAS_OP_N, problem_.n, problem_.m, problem_.k,
        scale.one, buffers_.b.data, in, leading_b(problem_), buffers_.a.data, in, problem_.k,
        scale.zero, buffers_.c.data, out, problem_.n, types.compute, algorithm_));
  }

  std::string algorithm() const override {
    return algorithm_ == CUBLAS_GEMM_AUTOTUNE ? "cublasGemmEx, CUBLAS_GEMM_AUTOTUNE"
                                              : "cublasGemmEx, CUBLAS_GEMM_DEFAULT";
  }

 private:
  GemmProblem problem_;
  GemmBuffers buffers_;
  Buffer workspace_;  // freed after the handle
  Handle<cublasHandle_t, cublasDestroy> handle_;
  cublasGemmAlgo_t algorithm_ = CUBLAS_GEMM_DEFAULT;
};

class GemmExEngine : public GemmEngine {
 public:
  explicit GemmExEngine(bool autotune) : autotune_(autotune) {}

  std::string name() const override { return autotune_ ? "cublas-autotune" : "cublas"; }
  std::string device_kind() const override { return "cuda"; }

  std::optional<Skipped> unsupported(Device&, const GemmProblem& problem) const override {
    if (problem.dtype == DType::fp8_e4m3) return Skipped{"cublasGemmEx does not multiply fp8"};
    if (problem.dtype == DType::int8 && (problem.k % 4 != 0 || problem.n % 4 != 0)) {
      return Skipped{"cublasGemmEx wants sides in multiples of 4 for int8"};
    }
    return std::nullopt;
  }

  // The first call makes the library choose, by measuring where it autotunes, and load its kernel.
  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                 const GemmBuffers& buffers, const Tuning&) override {
    auto plan = std::make_unique<GemmExPlan>(dynamic_cast<GpuDevice&>(device), problem, buffers);
    if (autotune_) plan->set_algorithm(CUBLAS_GEMM_AUTOTUNE);
    const auto stream = device.make_stream({});
    plan->enqueue(*stream);
    stream->synchronize(kDeadlineSeconds);
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
