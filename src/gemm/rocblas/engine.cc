// rocblas_gemm_ex with the library's own choice of a kernel, as torch.matmul calls it on ROCm.
// Row-major C = A x B is column-major C^T = B^T x A^T: rocBLAS's first operand is Duet's B, and its
// m is Duet's N.
#include "gemm/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "device/gpu/device.h"
#include "gemm/rocblas/engines.h"
#include "gemm/rocblas/library.h"

namespace duet::hip {
namespace {

constexpr std::uint64_t kWorkspace = 32ull << 20;  // so that calls allocate none
constexpr double kFirstCallSeconds = 120;

void check(rocblas::Status status, const char* call) {
  if (status == rocblas::kSuccess) return;
  const std::string text = fmt::format("{}: {}", call, rocblas::library().status_text(status));
  if (status == rocblas::kMemoryError) throw OutOfMemory(text);
  if (status == rocblas::kNotImplemented || status == rocblas::kArchMismatch) {
    throw Unavailable(text);
  }
  throw Error(text);
}

std::optional<rocblas::Type> type_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return rocblas::kFp32;
    case DType::fp16:
      return rocblas::kFp16;
    case DType::bf16:
      return rocblas::kBf16;
    case DType::int8:
      return rocblas::kInt8;
    case DType::int32:
      return rocblas::kInt32;
    case DType::tf32:
    case DType::fp8_e4m3:
    case DType::fp8_e5m2:
      break;
  }
  return std::nullopt;
}

class RocblasPlan : public GemmPlan {
 public:
  RocblasPlan(GpuDevice& device, const GemmProblem& problem)
      : problem_(problem), workspace_(device.allocate(kWorkspace)) {
    device.use();
    check(library_.create_handle(&handle_), "rocblas_create_handle");
    check(library_.set_workspace(handle_, workspace_.span().data, workspace_.bytes()),
          "rocblas_set_workspace");
  }
  ~RocblasPlan() override { static_cast<void>(library_.destroy_handle(handle_)); }
  RocblasPlan(const RocblasPlan&) = delete;
  RocblasPlan& operator=(const RocblasPlan&) = delete;

  void enqueue(Stream& stream, const GemmBuffers& buffers) override {
    const Scalars& scalars = problem_.dtype == DType::int8 ? ints() : floats();
    const void* const beta = problem_.accumulate ? scalars.one : scalars.zero;
    const rocblas::Type in = *type_of(problem_.dtype), out = *type_of(problem_.output);
    const rocblas::Type sums = problem_.dtype == DType::int8 ? rocblas::kInt32 : rocblas::kFp32;
    const bool nt = problem_.layout == Layout::nt, tn = problem_.layout == Layout::tn;
    const auto m = narrow(problem_.m), n = narrow(problem_.n), k = narrow(problem_.k);
    stream.device().make_current();
    check(library_.set_stream(handle_, static_cast<hipStream_t>(stream.native())),
          "rocblas_set_stream");
    check(library_.gemm_ex(handle_, nt ? rocblas::kTranspose : rocblas::kNone,
                           tn ? rocblas::kTranspose : rocblas::kNone, n, m, k, scalars.one,
                           buffers.b.data, in, nt ? k : n, buffers.a.data, in,
                           narrow(row_step_of_a(problem_)), beta, buffers.c.data, out, n,
                           buffers.c.data, out, n, sums, rocblas::kStandardAlgorithm, 0, 0),
          "rocblas_gemm_ex");
  }

  std::uint64_t workspace_bytes() const override { return workspace_.bytes(); }
  std::string algorithm() const override { return "rocblas_gemm_ex, standard"; }

 private:
  // In the type of the sums.
  struct Scalars {
    const void *one, *zero;
  };
  static const Scalars& floats() {
    static const float one = 1, zero = 0;
    static const Scalars all{&one, &zero};
    return all;
  }
  static const Scalars& ints() {
    static const std::int32_t one = 1, zero = 0;
    static const Scalars all{&one, &zero};
    return all;
  }
  static std::int32_t narrow(std::int64_t side) { return static_cast<std::int32_t>(side); }

  const rocblas::Library& library_ = rocblas::library();
  GemmProblem problem_;
  Buffer workspace_;  // freed after the handle
  rocblas::Handle handle_ = nullptr;
};

class RocblasEngine : public GemmEngine {
 public:
  std::string name() const override { return "rocblas"; }
  std::string device_kind() const override { return "hip"; }

  std::optional<Skipped> unsupported(Device&, const GemmProblem& problem) const override {
    if (problem.epilogue != Epilogue::none) return no_epilogue(*this);
    if (!type_of(problem.dtype)) {
      return Skipped{
          fmt::format("rocblas_gemm_ex does not multiply {}", duet::name(problem.dtype))};
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (std::max({problem.m, problem.n, problem.k}) > kMost) {
      return Skipped{fmt::format("rocblas_gemm_ex: a side above {}", kMost)};
    }
    try {
      rocblas::library();
    } catch (const Unavailable& error) {
      return Skipped{error.what()};
    }
    return std::nullopt;
  }

  // Makes one call, in which the library chooses its kernel and loads it.
  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                 const GemmBuffers& buffers, const Tuning& tuning) override {
    auto plan = std::make_unique<RocblasPlan>(dynamic_cast<GpuDevice&>(device), problem);
    const auto stream = device.make_stream({0, tuning.units});
    plan->enqueue(*stream, buffers);
    stream->synchronize(kFirstCallSeconds);
    return plan;
  }
};

}  // namespace

void register_rocblas_engine() { register_gemm_engine(std::make_unique<RocblasEngine>()); }

}  // namespace duet::hip
