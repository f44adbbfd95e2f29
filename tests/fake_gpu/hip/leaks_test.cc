// Duet's HIP device gives back what it takes of the runtime.
#include <gtest/gtest.h>

#include "collectives/collective_work.h"
#include "collectives/engine.h"
#include "device/machine.h"
#include "fake_gpu/hip/runtime.h"
#include "gemm/engine.h"
#include "timing/sampler.h"

namespace duet {
namespace {

void measure(CollectiveEngine& engine, Team& team) {
  Collective collective;
  collective.kind = CollectiveKind::all_gather;
  collective.count = 10'000;
  const auto session = engine.open(team);
  CollectiveWork work(team, *session, collective, false);
  Mode mode;
  mode.warm_up_seconds = 0;
  mode.min_iterations = mode.max_iterations = 3;
  EXPECT_TRUE(Sampler(team).measure(work, mode).verified);
}

TEST(Leaks, NoMemoryAndNoStreamIsLeftAfterCollectives) {
  ASSERT_EQ(fake_gpu::live(), fake_gpu::Live{}) << "before";
  {
    const auto machine = open_machine("hip");
    Team team(*machine);
    for (CollectiveEngine* engine : collective_engines("hip").engines) measure(*engine, team);
    EXPECT_NE(fake_gpu::live(), fake_gpu::Live{}) << "the device has its own";
  }
  EXPECT_EQ(fake_gpu::live(), fake_gpu::Live{});
}

// The engines' copies keep signals, events and pinned words.
TEST(Leaks, NothingIsLeftAfterCopiesByChosenEngines) {
  ASSERT_EQ(fake_gpu::live(), fake_gpu::Live{}) << "before";
  {
    const auto machine = open_machine("hip");
    const Buffer from = machine->device(2).allocate(5000), to = machine->device(0).allocate(5000);
    for (int issuer : {0, 2}) {
      const auto stream = machine->device(issuer).make_stream({});
      stream->fill(issuer == 0 ? to.span() : from.span(), {FillKind::pattern, 1, 0, DType::fp32});
      stream->copy({to.span(), from.span(), Executor::sdma, {}});
      stream->synchronize(60);
    }
    EXPECT_GT(fake_gpu::live().signals, 0u);
  }
  EXPECT_EQ(fake_gpu::live(), fake_gpu::Live{});
}

constexpr GemmProblem kProblem{16, 16, 16, DType::bf16, DType::bf16, Layout::nn};
constexpr std::uint64_t kBytes = 16 * 16 * 2;

std::unique_ptr<GemmPlan> plan(const std::string& name, Device& device,
                               const GemmBuffers& buffers) {
  Tuning tuning;
  tuning.seconds = 0.1;
  return gemm_engines("hip", {name}).engines.at(0)->plan(device, kProblem, buffers, tuning);
}

// Engines keep a handle of their library and a workspace for each plan.
TEST(Leaks, NothingIsLeftAfterGemms) {
  ASSERT_EQ(fake_gpu::live(), fake_gpu::Live{}) << "before";
  {
    const auto machine = open_machine("hip");
    Device& device = machine->device(1);
    const Buffer a = device.allocate(kBytes), b = device.allocate(kBytes),
                 c = device.allocate(kBytes);
    const GemmBuffers buffers{a.span(), b.span(), c.span()};
    const auto stream = device.make_stream({});
    for (const char* name : {"rocblas", "hipblaslt", "hipblaslt-tuned"}) {
      plan(name, device, buffers)->enqueue(*stream, buffers);
      stream->synchronize(60);
    }
  }
  EXPECT_EQ(fake_gpu::live(), fake_gpu::Live{});
}

TEST(Gemm, ACallOnAnotherDevicesStreamIsAnError) {
  const auto machine = open_machine("hip");
  Device& device = machine->device(0);
  const Buffer a = device.allocate(kBytes), b = device.allocate(kBytes),
               c = device.allocate(kBytes);
  const GemmBuffers buffers{a.span(), b.span(), c.span()};
  const auto made = plan("hipblaslt", device, buffers);
  const auto stream = machine->device(1).make_stream({});
  EXPECT_THROW(made->enqueue(*stream, buffers), Error);
}

}  // namespace
}  // namespace duet
