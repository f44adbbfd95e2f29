#include "gemm/cpu/peak.h"

#include <gtest/gtest.h>

#include "device/machine.h"
#include "timing/sampler.h"

namespace duet {
namespace {

TEST(Peak, CountsTheFlopThatItDoes) {
  const auto machine = open_machine("host");
  for (DType dtype : {DType::fp32, DType::bf16, DType::int8}) {
    const auto loop = peak_loop(dtype);
    if (std::holds_alternative<Skipped>(loop)) continue;
    Team team(*machine, {0});
    PeakWork work(std::get<PeakLoop>(loop), 2);
    Mode mode;
    mode.seconds = 0.01;
    mode.warm_up_seconds = 0;
    mode.min_iterations = 3;
    EXPECT_TRUE(Sampler(team).measure(work, mode).verified) << name(dtype);
    EXPECT_GT(work.cost().flop, 0);
  }
}

TEST(Peak, SaysWhatTheCpuCannotDo) {
  EXPECT_TRUE(std::holds_alternative<Skipped>(peak_loop(DType::fp8_e4m3)));
}

}  // namespace
}  // namespace duet
