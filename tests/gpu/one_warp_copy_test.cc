// A copy by one warp per SM runs beside a GEMM that has taken all compute units. Skipped without a
// GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

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

// A GEMM of about 10 ms on an H200: its matrices and its plan.
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
  void enqueue(Stream& stream) const { plan->enqueue(stream, {a.span(), b.span(), c.span()}); }

  std::unique_ptr<GemmPlan> plan;
};

class OneWarpCopy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (machine_ == nullptr || cublas() == nullptr) GTEST_SKIP() << "no device for --device cuda";
  }

  // By when of a GEMM's time a copy ends that is enqueued while it runs.
  double share(const KernelShape& shape) {
    Device& device = machine_->device(0);
    Gemm gemm(device);
    const Buffer source = device.allocate(kBytes), target = device.allocate(kBytes);
    const auto compute = device.make_stream();
    const auto copies = device.make_stream({device.info().priorities - 1});
    const auto begin = device.make_event(), copied = device.make_event(), end = device.make_event();
    const Copy copy{target.span(), source.span(), Executor::kernel, shape};
    gemm.enqueue(*compute);  // loads its kernels
    copies->copy(copy);
    compute->synchronize(kDeadline);
    copies->synchronize(kDeadline);
    compute->record(*begin);
    gemm.enqueue(*compute);
    compute->record(*end);
    begin->synchronize(kDeadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    copies->copy(copy);
    copies->record(*copied);
    compute->synchronize(kDeadline);
    copies->synchronize(kDeadline);
    return copied->seconds_since(*begin) / end->seconds_since(*begin);
  }

  std::unique_ptr<Machine> machine_ = open_gpu();
};

TEST_F(OneWarpCopy, EndsWhileAGemmOfAllUnitsRuns) {
  // What needs room must find none, or the GEMM has not taken all units and this shows nothing.
  ASSERT_GT(share({8, 512, false}), 0.9);
  EXPECT_LT(share({0, 0, true}), 0.5);
}

}  // namespace
}  // namespace duet
