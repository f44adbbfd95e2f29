// A thin copy runs beside a GEMM that has taken all compute units. Skips where there is no GPU.
#include <gtest/gtest.h>

#include <memory>

#include "core/error.h"
#include "device/machine.h"
#include "gemm/engine.h"

namespace duet {
namespace {

constexpr double kDeadline = 60;
constexpr std::size_t kBytes = 64 << 20;

std::unique_ptr<Machine> open_gpu() {
  try {
    return open_machine("cuda:0");
  } catch (const Error&) {
    return nullptr;
  }
}

GemmEngine* cublas() {
  for (GemmEngine* each : gemm_engines("cuda").engines) {
    if (each->name() == "cublas") return each;
  }
  return nullptr;
}

// Of some 10 ms: the matrices, and a plan.
struct Gemm {
  explicit Gemm(Device& device)
      : a(device.allocate(std::size_t{8192} * 8192 * 2)),
        b(device.allocate(std::size_t{8192} * 57344 * 2)),
        c(device.allocate(std::size_t{8192} * 57344 * 2)) {
    GemmProblem problem{8192, 57344, 8192, DType::bf16};
    problem.output = DType::bf16;
    plan = cublas()->plan(device, problem, {a.span(), b.span(), c.span()}, {});
  }
  Buffer a, b, c;
  std::unique_ptr<GemmPlan> plan;
};

TEST(ThinCopy, EndsWhileAGemmOfAllUnitsRuns) {
  const auto machine = open_gpu();
  if (machine == nullptr || cublas() == nullptr) GTEST_SKIP() << "no device for --device cuda";
  Device& device = machine->device(0);
  Gemm gemm(device);
  const Buffer source = device.allocate(kBytes), target = device.allocate(kBytes);
  const auto compute = device.make_stream();
  const auto copies = device.make_stream({device.info().priorities - 1});
  const auto begin = device.make_event(), copied = device.make_event(), end = device.make_event();
  Copy copy{target.span(), source.span(), Executor::kernel, {}};
  copy.shape.thin = true;
  gemm.plan->enqueue(*compute);  // loads its kernels
  copies->copy(copy);
  compute->synchronize(kDeadline);
  copies->synchronize(kDeadline);
  compute->record(*begin);
  gemm.plan->enqueue(*compute);
  compute->record(*end);
  begin->synchronize(kDeadline);
  copies->copy(copy);
  copies->record(*copied);
  compute->synchronize(kDeadline);
  copies->synchronize(kDeadline);
  EXPECT_LT(copied->seconds_since(*begin), end->seconds_since(*begin) / 2);
}

}  // namespace
}  // namespace duet
