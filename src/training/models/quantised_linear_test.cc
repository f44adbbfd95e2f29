// Tensors in fp8, and the linears that multiply them, on the host.
#include "training/models/quantised_linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "core/error.h"
#include "training/models/linear.h"
#include "training/operations/on_host_fixture.h"

namespace duet {
namespace {

class QuantisedTensors : public OnHost {
 protected:
  using OnHost::at;
  // What a quantised tensor stands for.
  static double at(const ScaledTensor& tensor, std::int64_t row, std::int64_t column) {
    return at(tensor.values, row, column) * at(tensor.scale, 0, 0);
  }

  Quantised quantised(const Tensor& x, DType fp8 = DType::fp8_e4m3) {
    const Tensor magnitude = tensor(1, 1);
    const Quantised made{tensor(x.rows, x.columns, fp8), tensor(x.columns, x.rows, fp8),
                         tensor(1, 1)};
    run(Magnitude{x, magnitude});
    run(Quantise{x, magnitude, made});
    synchronize();
    return made;
  }

  // The norm of the difference from `expected`, as a share of its norm.
  static double distance(const Tensor& found,
                         const std::function<double(std::int64_t, std::int64_t)>& expected) {
    double difference = 0, norm = 0;
    for (std::int64_t i = 0; i < found.rows; ++i) {
      for (std::int64_t j = 0; j < found.columns; ++j) {
        const double wanted = expected(i, j);
        difference += std::pow(at(found, i, j) - wanted, 2);
        norm += wanted * wanted;
      }
    }
    return std::sqrt(difference / norm);
  }
};

// A largest value of 448 leaves all values as they are; between 16 and 32 fp8 has every second one,
// below 2^-6 multiples of 2^-9.
TEST_F(QuantisedTensors, RoundToNearestEven) {
  const float least = 0x1p-9f;
  const Tensor x = of(2, {448, 17, 19, -21, 18, 0, -17.5f, 2.5f * least, 0.5f * least,
                          -1.5f * least, 440, 431.5f, -448, 1, 0.0625f, 1.0625f});
  const Quantised made = quantised(x);
  EXPECT_EQ(values(made.scale), std::vector<float>{1});
  EXPECT_EQ(values(made.values), (std::vector<float>{448, 16, 20, -20, 18, 0, -18, 2 * least, 0,
                                                     -2 * least, 448, 416, -448, 1, 0.0625f, 1}));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) {
      EXPECT_EQ(at(made.transposed, j, i), at(made.values, i, j));
    }
  }
}

TEST_F(QuantisedTensors, AreScaledByTheirMagnitude) {
  const Quantised made = quantised(of(1, {-3.5f, 1.75f, 0.21875f}));
  EXPECT_EQ(values(made.scale), std::vector<float>{3.5f / 448});
  EXPECT_EQ(values(made.values), (std::vector<float>{-448, 224, 28}));
}

// E5M2 has 57344 as its largest value, and every fourth number from 16 on.
TEST_F(QuantisedTensors, RoundToNearestEvenInE5M2) {
  const Quantised made =
      quantised(of(1, {57344, 18, 22, -21, 53000, -0x1.8p-16f, 0x1p-17f}), DType::fp8_e5m2);
  EXPECT_EQ(values(made.scale), std::vector<float>{1});
  EXPECT_EQ(values(made.values), (std::vector<float>{57344, 16, 24, -20, 49152, -0x1p-15f, 0}));
  EXPECT_EQ(values(made.transposed), values(made.values));
  EXPECT_EQ(values(quantised(of(1, {7, -1.75f}), DType::fp8_e5m2).values),
            (std::vector<float>{57344, -14336}));
}

// By a magnitude that was measured before.
TEST_F(QuantisedTensors, SaturateBeyondTheMagnitude) {
  const Tensor x = of(1, {1, -900, 500}), magnitude = of(1, {448});
  const Quantised made{tensor(1, 3, DType::fp8_e4m3), {}, tensor(1, 1)};
  run(Quantise{x, magnitude, made});
  synchronize();
  EXPECT_EQ(values(made.values), (std::vector<float>{1, -448, 448}));
}

TEST_F(QuantisedTensors, OfZerosAreZerosWithAScale) {
  for (const float least : {0.0f, 1e-38f}) {
    const Quantised made = quantised(of(1, {0, least, 0}));
    EXPECT_EQ(values(made.scale), std::vector<float>{1});
    EXPECT_EQ(values(made.values), (std::vector<float>{0, 0, 0}));
  }
}

TEST_F(QuantisedTensors, OfWhatIsNotFiniteHaveNoFiniteProduct) {
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    const Quantised bad = quantised(of(1, {1, value})), good = quantised(of(1, {1, 2}));
    const Tensor y = tensor(1, 1);
    run(MultiplyScaled{bad.by_rows(), good.by_rows(), {}, y, Sums::fast});
    synchronize();
    EXPECT_FALSE(std::isfinite(values(y)[0])) << value;
  }
}

TEST_F(QuantisedTensors, AreMultipliedWithTheirScales) {
  const Tensor x = normal(19, 37, 1, 1e-3f), w = normal(41, 37, 2, 30), added = normal(19, 41, 3);
  const Quantised a = quantised(x), b = quantised(w);
  const Tensor y = tensor(19, 41), sum = tensor(19, 41), in_place = normal(19, 41, 3);
  run(MultiplyScaled{a.by_rows(), b.by_rows(), {}, y, Sums::precise});
  run(MultiplyScaled{a.by_rows(), b.by_rows(), added, sum, Sums::precise});
  operations_->run(*stream_,
                   MultiplyScaled{a.by_rows(), b.by_rows(), in_place, in_place, Sums::fast});
  synchronize();
  const auto product = [&](std::int64_t i, std::int64_t j) {
    double all = 0;
    for (std::int64_t k = 0; k < 37; ++k) all += at(a.by_rows(), i, k) * at(b.by_rows(), j, k);
    return all;
  };
  EXPECT_LT(distance(y, product), 1e-6);
  const auto with_addend = [&](std::int64_t i, std::int64_t j) {
    return product(i, j) + at(added, i, j);
  };
  EXPECT_LT(distance(sum, with_addend), 1e-6);
  EXPECT_EQ(values(in_place), values(sum));
}

TEST_F(QuantisedTensors, RefuseShapesAndTypesThatDoNotFit) {
  const Tensor x = normal(3, 5, 1), one = tensor(1, 1), eight = tensor(3, 5, DType::fp8_e4m3),
               turned = tensor(5, 3, DType::fp8_e4m3), y = tensor(3, 3);
  const auto refused = [&](const Quantised& to) {
    EXPECT_THROW(run(Quantise{x, one, to}), BadArgument);
  };
  refused({turned, {}, one});
  refused({{}, eight, one});
  refused({x, {}, one});
  refused({{}, {}, one});
  refused({eight, turned, {}});
  const auto not_multiplied = [&](const ScaledTensor& a, const ScaledTensor& b,
                                  const Tensor& addend) {
    EXPECT_THROW(run(MultiplyScaled{a, b, addend, y, Sums::fast}), BadArgument);
  };
  not_multiplied({eight, one}, {turned, one}, {});
  not_multiplied({eight, one}, {eight, one}, x);
  not_multiplied({eight, one}, {x, one}, {});
  not_multiplied({eight, x}, {eight, one}, {});
  const Tensor gradient = tensor(3, 5, DType::fp8_e5m2);
  not_multiplied({eight, one}, {gradient, one}, {});  // of a alone
  refused({eight, tensor(5, 3, DType::fp8_e5m2), one});
}

constexpr std::int64_t kFp8Tokens = 21, kFp8In = 30, kFp8Out = 44;

// A linear in fp8 and one in fp32, with the same tensors.
class LinearInFp8 : public QuantisedTensors {
 protected:
  // A gradient of its own, which begins as `dw_begin_`.
  Linear make(const Tensor& dw) const { return {w_, dw}; }
  Linear make_fp8(const Tensor& dw, DType gradients = DType::fp8_e4m3) {
    const auto eight = [&](std::int64_t rows, std::int64_t columns) {
      return tensor(rows, columns, DType::fp8_e4m3);
    };
    const QuantisedWorkspace workspace{eight(1, kFp8Tokens * kFp8Out),
                                       eight(1, kFp8Tokens * kFp8Out),
                                       eight(1, kFp8In * kFp8Out),
                                       tensor(1, 1),
                                       tensor(1, 1),
                                       tensor(1, 1)};
    Linear linear(w_, dw);
    linear.quantise(
        {{eight(kFp8In, kFp8Tokens), tensor(1, 1)}, tensor(1, 1), workspace, gradients});
    return linear;
  }
  Tensor run(const Linear& linear, const Tensor& y, const Tensor& sum, const Tensor& dx) {
    linear.forward(*operations_, *stream_, x_, y);
    linear.forward_add(*operations_, *stream_, x_, residual_, sum);
    linear.backward(*operations_, *stream_, dy_, x_, dx, Accumulate::yes);
    synchronize();
    return dx;
  }

  const Tensor x_ = normal(kFp8Tokens, kFp8In, 1), w_ = normal(kFp8Out, kFp8In, 2, 0.1f),
               residual_ = normal(kFp8Tokens, kFp8Out, 3),
               dy_ = normal(kFp8Tokens, kFp8Out, 4, 1e-4f);
};

TEST_F(LinearInFp8, MultipliesWhatTheQuantisedTensorsStandFor) {
  for (const DType gradients : {DType::fp8_e4m3, DType::fp8_e5m2}) {
    const Tensor y = tensor(kFp8Tokens, kFp8Out), sum = tensor(kFp8Tokens, kFp8Out),
                 dx = tensor(kFp8Tokens, kFp8In), dw = normal(kFp8Out, kFp8In, 5, 1e-3f),
                 dw_begin = normal(kFp8Out, kFp8In, 5, 1e-3f);
    run(make_fp8(dw, gradients), y, sum, dx);
    const ScaledTensor x = quantised(x_).by_rows(), w = quantised(w_).by_rows(),
                       dy = quantised(dy_, gradients).by_rows();
    const auto product = [&](std::int64_t i, std::int64_t j) {
      double all = 0;
      for (std::int64_t k = 0; k < kFp8In; ++k) all += at(x, i, k) * at(w, j, k);
      return all;
    };
    EXPECT_LT(distance(y, product), 1e-6);
    const auto added = [&](auto i, auto j) { return product(i, j) + at(residual_, i, j); };
    EXPECT_LT(distance(sum, added), 1e-6);
    const auto input_gradient = [&](auto i, auto j) {
      double all = 0;
      for (std::int64_t k = 0; k < kFp8Out; ++k) all += at(dy, i, k) * at(w, k, j);
      return all;
    };
    EXPECT_LT(distance(dx, input_gradient), 1e-6);
    const auto weight_gradient = [&](auto i, auto j) {
      double all = at(dw_begin, i, j);
      for (std::int64_t k = 0; k < kFp8Tokens; ++k) all += at(dy, k, i) * at(x, k, j);
      return all;
    };
    EXPECT_LT(distance(dw, weight_gradient), 1e-6);
  }
}

TEST_F(LinearInFp8, IsNearTheLinearInFp32) {
  const Tensor y = tensor(kFp8Tokens, kFp8Out), sum = tensor(kFp8Tokens, kFp8Out),
               dx = tensor(kFp8Tokens, kFp8In), dw = normal(kFp8Out, kFp8In, 5, 1e-3f),
               y_32 = tensor(kFp8Tokens, kFp8Out), sum_32 = tensor(kFp8Tokens, kFp8Out),
               dx_32 = tensor(kFp8Tokens, kFp8In), dw_32 = normal(kFp8Out, kFp8In, 5, 1e-3f);
  run(make_fp8(dw), y, sum, dx);
  run(make(dw_32), y_32, sum_32, dx_32);
  const std::pair<Tensor, Tensor> results[] = {{y, y_32}, {sum, sum_32}, {dx, dx_32}, {dw, dw_32}};
  for (const auto& [found, expected] : results) {
    const double off = distance(found, [&](auto i, auto j) { return at(expected, i, j); });
    EXPECT_LT(off, 0.06);
    EXPECT_GT(off, 1e-4);  // it did multiply in fp8
  }
}

// What backward() takes is what forward() saw last, or keep().
TEST_F(LinearInFp8, KeepsItsInput) {
  const Tensor y = tensor(kFp8Tokens, kFp8Out), sum = tensor(kFp8Tokens, kFp8Out),
               dx = tensor(kFp8Tokens, kFp8In), expected = tensor(kFp8Out, kFp8In),
               dw = tensor(kFp8Out, kFp8In), other = normal(kFp8Tokens, kFp8In, 9, 5);
  const auto zeros = [&](const Tensor& t) { OnHost::run(FillValue{0, t}); };
  zeros(expected);
  zeros(dw);
  run(make_fp8(expected), y, sum, dx);
  const Linear linear = make_fp8(dw);
  linear.forward(*operations_, *stream_, x_, y);
  linear.keep(*operations_, *stream_, other);
  linear.keep(*operations_, *stream_, x_);
  linear.backward(*operations_, *stream_, dy_, other, dx, Accumulate::no);
  synchronize();
  EXPECT_EQ(values(dw), values(expected));
}

}  // namespace
}  // namespace duet
