// What kernels exchange between threads is the same in waves of 64 threads and of 32: the HIP side
// of the headers, on the CPU.
#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "device/gpu/group_sum.h"
#include "emulation.h"
#include "halo/gpu/points.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kThreads = 256;

float own() { return static_cast<float>(threadIdx.x); }

// Of the numbers of `count` threads from `first` on.
float sum_of(int first, int count) {
  return static_cast<float>(count * first + count * (count - 1) / 2);
}

class Waves : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { emulation::wave_threads = GetParam(); }

  // What `kernel` returns in each thread of a block.
  template <typename Kernel>
  std::vector<double> run(Kernel kernel) {
    std::vector<double> results(kThreads);
    emulation::run(dim3(1), kThreads, 0, [&] {
      const unsigned thread = threadIdx.x;
      results[thread] = static_cast<double>(kernel());
    });
    return results;
  }
};

TEST_P(Waves, NeighboursAreAmong32) {
  const auto left = run([] { return from_left(own()); });
  const auto right = run([] { return from_right(own()); });
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(left[i], i % 32 == 0 ? i : i - 1);
    EXPECT_EQ(right[i], i % 32 == 31 ? i : i + 1);
  }
}

template <int lanes>
float sum_of_group() {
  float value[1] = {own()};
  group_sum<lanes>(value);
  return value[0];
}

TEST_P(Waves, SumsAreOfTheThreadsOfARow) {
  const auto eight = run([] { return warp_sum<8>(own()); });
  const auto most = run([] { return warp_max(own()); });
  const auto of_32 = run(sum_of_group<32>), of_64 = run(sum_of_group<64>);
  const auto all = run(sum_of_group<kThreads>);
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(eight[i], sum_of(i / 8 * 8, 8));
    EXPECT_EQ(most[i], i / 32 * 32 + 31);
    EXPECT_EQ(of_32[i], sum_of(i / 32 * 32, 32));
    EXPECT_EQ(of_64[i], sum_of(i / 64 * 64, 64));
    EXPECT_EQ(all[i], sum_of(0, kThreads));
  }
  EXPECT_EQ(run([] { return block_sum<kThreads>(static_cast<double>(own())); })[0],
            sum_of(0, kThreads));
}

// As in attention, whose rows have different lengths: 32 threads go on where their neighbours in
// the wave have ended.
TEST_P(Waves, RowsOfOneWaveNeedNotBeEquallyLong) {
  const auto sums = run([] {
    float sum = 0;
    for (unsigned i = 0; i <= threadIdx.x / 32; ++i) sum = warp_sum(own());
    return sum;
  });
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(sums[i], sum_of(i / 32 * 32, 32));
}

TEST_P(Waves, NothingIsReadOfInactiveThreads) {
  const auto of_others =
      run([] { return threadIdx.x % 32 == 0 ? __shfl_xor(own(), 1, 32) : own(); });
  EXPECT_NE(of_others[0], of_others[0]);  // not a number
}

TEST_P(Waves, AfterABlockThatWasGivenUpOthersRun) {
  const auto half_waits = [] {
    if (threadIdx.x % 2 == 0) __syncthreads();
    return 0;
  };
  EXPECT_THROW(run(half_waits), Error);
  const auto numbers = run([] {
    __syncthreads();
    return threadIdx.x;
  });
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(numbers[i], i);
}

INSTANTIATE_TEST_SUITE_P(Threads, Waves, ::testing::Values(32, 64));

}  // namespace
}  // namespace duet::DUET_GPU
