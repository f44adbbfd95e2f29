// The engine "duet": blocked_gemm on the device's cores.
#include "gemm/cpu/engine.h"

#include <fmt/format.h>

#include "gemm/cpu/blocked_gemm.h"

namespace duet {
namespace {

class CpuPlan : public GemmPlan {
 public:
  CpuPlan(Device& device, const GemmProblem& problem, const GemmBuffers& buffers)
      : problem_(problem),
        buffers_(buffers),
        threads_(device.info().compute_units),
        workspace_(device.allocate(blocked_workspace_bytes(problem, threads_))) {}

  void enqueue(Stream& stream) override {
    stream.run({"gemm " + name(problem_), {}, [this] {
                  blocked_gemm(
                      problem_,
                      {buffers_.a.data, buffers_.b.data, buffers_.c.data, workspace_.span().data},
                      threads_);
                }});
  }

  std::string algorithm() const override {
    return fmt::format("packed, tiles of 14 x 32, AVX-512, {} threads", threads_);
  }

 private:
  GemmProblem problem_;
  GemmBuffers buffers_;
  int threads_;
  Buffer workspace_;
};

class CpuEngine : public GemmEngine {
 public:
  std::string name() const override { return "duet"; }
  std::string device_kind() const override { return "host"; }

  std::optional<Skipped> unsupported(Device&, const GemmProblem& problem) const override {
    if (problem.dtype != DType::fp32 && problem.dtype != DType::bf16) {
      return Skipped{fmt::format("duet multiplies fp32 and bf16 on the CPU, not {}",
                                 duet::name(problem.dtype))};
    }
    if (problem.output != problem.dtype) return Skipped{"duet writes C in the type of A and B"};
    if (blocked_supported(problem)) return std::nullopt;
    return Skipped{problem.dtype == DType::fp32 ? "this CPU has no AVX-512"
                                                : "this CPU has no AVX-512 BF16"};
  }

  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                 const GemmBuffers& buffers, const Tuning&) override {
    return std::make_unique<CpuPlan>(device, problem, buffers);
  }
};

}  // namespace

std::unique_ptr<GemmEngine> make_cpu_engine() { return std::make_unique<CpuEngine>(); }

}  // namespace duet
