// Rows that are summed, added to a residual and normalised, against the same in double.
#include <cmath>
#include <vector>

#include "devices.h"

namespace duet::conformance {
namespace {

constexpr float kEpsilon = 1e-5F;

struct NormCase {
  DType dtype;
  std::size_t columns, rows, sources;
};

class NormKernels : public DeviceTest {
 protected:
  Buffer normal(std::size_t elements, std::uint64_t seed, DType dtype) {
    return filled(device(), elements * size_of(dtype), {FillKind::normal, seed, 0, dtype});
  }

  std::vector<double> values(const Span& span, DType dtype) {
    std::vector<std::byte> bytes(span.bytes);
    span.owner->read(span, bytes.data());
    std::vector<double> all;
    for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype))
      all.push_back(static_cast<double>(load(dtype, bytes.data() + at)));
    return all;
  }

  void run(const NormKernel& kernel) {
    const auto prepared = device().prepare(kernel);
    const auto stream = device().make_stream();
    stream->launch(*prepared);
    stream->synchronize(kDeadline);
  }

  // `sum` and `residual` are what the kernel found; of its own result h the norm is expected.
  void expect(const NormKernel& kernel, const std::vector<double>& sum,
              const std::vector<double>& residual) {
    const double rounding = kernel.dtype == DType::bf16   ? 1.0 / 256
                            : kernel.dtype == DType::fp16 ? 1.0 / 2048
                                                          : 1e-5;
    const std::vector<double> h = values(kernel.norm.updated, kernel.dtype);
    const std::vector<double> got = values(kernel.result, kernel.dtype);
    const std::vector<double> weight = values(kernel.norm.weight, kernel.dtype);
    const std::size_t columns = kernel.norm.columns;
    for (std::size_t row = 0; row < h.size(); row += columns) {
      double squares = 0;
      for (std::size_t i = row; i < row + columns; ++i) squares += h[i] * h[i];
      const double root = std::sqrt(squares / static_cast<double>(columns) + kEpsilon);
      for (std::size_t i = row; i < row + columns; ++i) {
        const double wanted = residual[i] + sum[i];
        ASSERT_NEAR(h[i], wanted, rounding * std::max(1.0, std::abs(wanted))) << i;
        const double normed = h[i] / root * weight[i - row];
        ASSERT_NEAR(got[i], normed, rounding * std::max(1.0, std::abs(normed))) << i;
      }
    }
  }
};

TEST_P(NormKernels, SumAndNormaliseRows) {
  for (const NormCase& of :
       {NormCase{DType::fp32, 2, 1, 1}, NormCase{DType::bf16, 8192, 3, 1},
        NormCase{DType::bf16, 1028, 300, 2}, NormCase{DType::fp16, 4096, 5, 3},
        NormCase{DType::bf16, 16384, 2, 2}, NormCase{DType::fp32, 8192, 2, 4}}) {
    SCOPED_TRACE(::testing::Message() << name(of.dtype) << " " << of.rows << " x " << of.columns);
    const std::size_t all = of.rows * of.columns;
    std::vector<Buffer> sources;
    NormKernel kernel;
    kernel.dtype = of.dtype;
    std::vector<double> sum(all);
    for (std::size_t i = 0; i < of.sources; ++i) {
      sources.push_back(normal(all, i, of.dtype));
      kernel.sources.push_back(sources.back().span());
      const std::vector<double> part = values(sources.back().span(), of.dtype);
      for (std::size_t j = 0; j < all; ++j) sum[j] += part[j];
    }
    const Buffer residual = normal(all, 100, of.dtype), weight = normal(of.columns, 101, of.dtype);
    const Buffer result = normal(all, 102, of.dtype), updated = normal(all, 103, of.dtype);
    const std::vector<double> before = values(residual.span(), of.dtype);
    kernel.result = result.span();
    kernel.norm = {residual.span(), updated.span(), weight.span(), of.columns, kEpsilon};
    run(kernel);
    if (!device().has_contents(result.span())) continue;  // simulated: only few rows are computed
    expect(kernel, sum, before);
    kernel.result = kernel.sources[0];
    kernel.norm.updated = residual.span();
    run(kernel);
    expect(kernel, sum, before);
  }
}

TEST_P(NormKernels, RefuseWhatDoesNotFit) {
  const Buffer x = normal(64, 0, DType::bf16), y = normal(64, 1, DType::bf16),
               r = normal(64, 2, DType::bf16), w = normal(64, 3, DType::bf16);
  const auto refuse = [&](void (*spoil)(NormKernel&)) {
    NormKernel kernel{
        {x.span()}, y.span(), {r.span(), r.span(), w.slice(0, 32), 16, kEpsilon}, DType::bf16};
    EXPECT_NO_THROW(device().prepare(kernel));
    spoil(kernel);
    EXPECT_THROW(device().prepare(kernel), BadArgument);
  };
  refuse([](NormKernel& kernel) { kernel.sources.clear(); });
  refuse([](NormKernel& kernel) { kernel.norm.columns = 24; });
  refuse([](NormKernel& kernel) { kernel.norm.columns = 2; });  // 4 bytes
  refuse([](NormKernel& kernel) { kernel.dtype = DType::int32; });
  refuse([](NormKernel& kernel) { kernel.result = kernel.result.slice(0, 96 - 16); });
  refuse([](NormKernel& kernel) { kernel.norm.residual = kernel.norm.residual.slice(0, 64); });
  refuse([](NormKernel& kernel) { kernel.norm.weight = kernel.norm.residual; });
  EXPECT_FALSE(can_normalise(DType::bf16, kMostNormRow));
}

DUET_CONFORMANCE(NormKernels);

}  // namespace
}  // namespace duet::conformance
