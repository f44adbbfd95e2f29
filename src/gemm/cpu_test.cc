// The CPU's own code: packing, and the multiply-add peak.
#include <gtest/gtest.h>

#include <cstring>

#include "device/machine.h"
#include "gemm/cpu/micro_kernel.h"
#include "gemm/cpu/pack.h"
#include "gemm/cpu/peak.h"
#include "timing/sampler.h"

namespace duet {
namespace {

// Element (line, k) as the source stores it: a number of its own.
std::uint32_t marked(std::int64_t line, std::int64_t k) {
  return static_cast<std::uint32_t>(1 + line * 100 + k);
}

template <typename Element>
void check_packing(DType dtype, bool along_k, int width) {
  const std::int64_t lines = 45, k = 37, per_word = word_elements(dtype);
  std::vector<Element> data(static_cast<std::size_t>(lines * k));
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      data[static_cast<std::size_t>(along_k ? i * k + j : j * lines + i)] =
          static_cast<Element>(marked(i, j));
    }
  }
  const std::int64_t words = (k + per_word - 1) / per_word;
  for (std::int64_t line = 0; line < lines; line += width) {
    const PackPart part{line, width, 2, words - 2};
    const auto size = static_cast<std::size_t>(part.words * width);
    std::vector<std::uint32_t> out(size + 16, 0xABABABABu);
    pack({data.data(), dtype, lines, k, along_k}, part, out.data());
    for (std::size_t i = size; i < out.size(); ++i) ASSERT_EQ(out[i], 0xABABABABu) << "overrun";
    for (std::int64_t w = 0; w < part.words; ++w) {
      for (int i = 0; i < width; ++i) {
        for (std::int64_t e = 0; e < per_word; ++e) {
          Element got;
          std::memcpy(&got,
                      reinterpret_cast<const char*>(out.data() + w * width + i) +
                          e * static_cast<std::int64_t>(sizeof got),
                      sizeof got);
          const std::int64_t at = (part.word + w) * per_word + e;
          const bool inside = line + i < lines && at < k;
          ASSERT_EQ(got, inside ? static_cast<Element>(marked(line + i, at)) : Element{0})
              << "line " << line + i << " k " << at;
        }
      }
    }
  }
}

TEST(Pack, PutsEveryElementInItsPlaceAndPadsWithZeros) {
  if (micro_kernel(DType::fp32) == nullptr) GTEST_SKIP() << "this CPU has no AVX-512";
  check_packing<std::uint32_t>(DType::fp32, true, kTileRows);
  check_packing<std::uint32_t>(DType::fp32, true, kTileColumns);
  check_packing<std::uint32_t>(DType::fp32, false, kTileColumns);
  check_packing<std::uint16_t>(DType::bf16, true, kTileRows);
  check_packing<std::uint16_t>(DType::bf16, true, kTileColumns);
  check_packing<std::uint16_t>(DType::bf16, false, kTileColumns);
}

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
