// The reference against the textbook's three loops, and the tolerance.
#include "gemm/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "core/random.h"
#include "device/machine.h"

namespace duet {
namespace {

std::vector<std::byte> random_matrix(DType dtype, std::int64_t count, std::uint64_t seed) {
  const std::size_t size = size_of(dtype);
  const float scale = dtype == DType::int8 ? 16.0f : 1.0f;
  std::vector<std::byte> data(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    store(dtype, data.data() + i * size, scale * random_normal(seed, i));
  }
  return data;
}

double at(DType dtype, const std::vector<std::byte>& data, std::int64_t index) {
  return static_cast<double>(
      load(dtype, data.data() + static_cast<std::size_t>(index) * size_of(dtype)));
}

TEST(Reference, AgreesWithThreeLoops) {
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::int8}) {
    for (Layout layout : {Layout::nn, Layout::nt}) {
      const GemmProblem p{5, 300, 17, dtype, default_output(dtype), layout};
      const auto a = random_matrix(dtype, p.m * p.k, 1), b = random_matrix(dtype, p.k * p.n, 2);
      const std::vector<double> c = reference_rows(p, a.data(), b.data(), p.m);
      ASSERT_EQ(c.size(), static_cast<std::size_t>(p.m * p.n));
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < p.k; ++k) {
            sum += at(dtype, a, i * p.k + k) *
                   at(dtype, b, layout == Layout::nn ? k * p.n + j : j * p.k + k);
          }
          ASSERT_NEAR(c[static_cast<std::size_t>(i * p.n + j)], sum, 1e-9) << name(p);
        }
      }
    }
  }
}

// A stored as (K, M): the reference takes the columns that are the product's rows.
TEST(Reference, TakesColumnsOfATransposedA) {
  const auto machine = open_machine("host");
  Device& device = machine->device(0);
  const GemmProblem p{9, 11, 13, DType::bf16, DType::bf16, Layout::tn};
  const auto a = random_matrix(p.dtype, p.m * p.k, 1), b = random_matrix(p.dtype, p.k * p.n, 2);
  const Buffer in_a = device.allocate(a.size()), in_b = device.allocate(b.size());
  device.write(in_a.span(), a.data());
  device.write(in_b.span(), b.data());
  const std::vector<std::int64_t> rows{0, 5, 8};
  const auto c = reference_by_cpu(device, p, {in_a.span(), in_b.span(), {}}, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += at(p.dtype, a, k * p.m + rows[i]) * at(p.dtype, b, k * p.n + j);
      }
      EXPECT_NEAR(c[i * static_cast<std::size_t>(p.n) + static_cast<std::size_t>(j)], sum, 1e-9);
    }
  }
}

TEST(SampledRows, AreDistinctInOrderAndHoldBothEnds) {
  for (std::int64_t m : {1, 2, 8, 9, 100, 16384}) {
    const auto rows = sampled_rows(m);
    EXPECT_EQ(rows.front(), 0);
    EXPECT_EQ(rows.back(), m - 1);
    EXPECT_LE(rows.size(), 8u);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(std::set<std::int64_t>(rows.begin(), rows.end()).size(), rows.size());
    EXPECT_EQ(rows, sampled_rows(m));
  }
}

TEST(Tolerance, AllowsRoundingAndNotAMissingTerm) {
  // If a product is left out, an element changes by about 1.
  for (DType dtype : {DType::fp32, DType::fp16}) {
    const GemmProblem p{1, 1, 4096, dtype, dtype, Layout::nn};
    EXPECT_LT(tolerance(p, 64), 0.5) << name(p);
  }
  const GemmProblem bf16{1, 1, 4096, DType::bf16, DType::bf16, Layout::nn};
  EXPECT_GE(tolerance(bf16, 64), 64 * std::ldexp(1.0, -8));  // half of the last place
  EXPECT_LT(tolerance(bf16, 64), 64 * 0.02);
  // A product of 64 that is rounded before -63.5 is added to it.
  EXPECT_GE(tolerance(bf16, 64, -63.5), 64 * std::ldexp(1.0, -8));
  const GemmProblem int8{1, 1, 4096, DType::int8, DType::int32, Layout::nn};
  EXPECT_EQ(tolerance(int8, 1e6), 0);
}

TEST(Tolerance, GrowsWithK) {
  for (DType dtype : {DType::fp32, DType::tf32, DType::fp8_e4m3}) {
    const GemmProblem small{1, 1, 64, dtype, default_output(dtype), Layout::nn};
    const GemmProblem large{1, 1, 16384, dtype, default_output(dtype), Layout::nn};
    EXPECT_LT(tolerance(small, 0), tolerance(large, 0));
    EXPECT_LT(tolerance(large, 0), 0.1 * std::sqrt(16384.0));  // far below a wrong element's error
  }
}

}  // namespace
}  // namespace duet
