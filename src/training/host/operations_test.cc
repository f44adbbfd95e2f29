// A linear and its gradients, which are GEMMs of the device's engines, against loops in double;
// what operations refuse.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "core/error.h"
#include "training/operations/on_host_fixture.h"

namespace duet {
namespace {

constexpr std::int64_t kRows = 9, kIn = 7, kOut = 11;

class LinearOperations : public OnHost {
 protected:
  // Runs the operations and compares every element of `result` with `expected`.
  void check(const Tensor& result,
             const std::function<double(std::int64_t, std::int64_t)>& expected,
             const std::vector<AnyOperation>& enqueued) {
    std::vector<double> wanted;
    for (std::int64_t i = 0; i < result.rows; ++i) {
      for (std::int64_t j = 0; j < result.columns; ++j) wanted.push_back(expected(i, j));
    }
    for (const AnyOperation& each : enqueued) run(each);
    synchronize();
    for (std::int64_t i = 0; i < result.count(); ++i) {
      EXPECT_NEAR(at(result, i / result.columns, i % result.columns),
                  wanted[static_cast<std::size_t>(i)], 1e-5);
    }
  }

  void refuses(const AnyOperation& operation) { EXPECT_THROW(run(operation), BadArgument); }
};

TEST_F(LinearOperations, ForwardWritesOrAdds) {
  const Tensor x = normal(kRows, kIn, 1), w = normal(kOut, kIn, 2), y = normal(kRows, kOut, 3);
  const auto product = [&](std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t k = 0; k < kIn; ++k) sum += at(x, i, k) * at(w, j, k);
    return sum;
  };
  const auto added = [&](std::int64_t i, std::int64_t j) { return at(y, i, j) + product(i, j); };
  const Tensor sum = normal(kRows, kOut, 4);
  check(sum, added, {LinearAdd{x, w, y, sum}});
  check(y, product, {LinearForward{x, w, y}});
}

TEST_F(LinearOperations, GradientsOfTheInputAndTheWeight) {
  const Tensor x = normal(kRows, kIn, 1), w = normal(kOut, kIn, 2), dy = normal(kRows, kOut, 3),
               dx = normal(kRows, kIn, 4), dw = normal(kOut, kIn, 5);
  check(dx,
        [&](std::int64_t i, std::int64_t j) {
          double sum = 0;
          for (std::int64_t k = 0; k < kOut; ++k) sum += at(dy, i, k) * at(w, k, j);
          return sum;
        },
        {LinearBackwardInput{dy, w, dx, Accumulate::no}});
  check(dw,
        [&](std::int64_t i, std::int64_t j) {
          double sum = at(dw, i, j);
          for (std::int64_t k = 0; k < kRows; ++k) sum += at(dy, k, i) * at(x, k, j);
          return sum;
        },
        {LinearBackwardWeight{dy, x, dw, Accumulate::yes}});
}

TEST_F(LinearOperations, AddToTheGradientOfTheInput) {
  const Tensor w = normal(kOut, kIn, 2), dy = normal(kRows, kOut, 3), dx = normal(kRows, kIn, 4);
  check(dx,
        [&](std::int64_t i, std::int64_t j) {
          double sum = at(dx, i, j);
          for (std::int64_t k = 0; k < kOut; ++k) sum += at(dy, i, k) * at(w, k, j);
          return sum;
        },
        {LinearBackwardInput{dy, w, dx, Accumulate::yes}});
}

TEST_F(LinearOperations, AddToTheResidualItself) {
  const Tensor x = normal(kRows, kIn, 1), w = normal(kOut, kIn, 2), y = normal(kRows, kOut, 3);
  check(y,
        [&](std::int64_t i, std::int64_t j) {
          double sum = at(y, i, j);
          for (std::int64_t k = 0; k < kIn; ++k) sum += at(x, i, k) * at(w, j, k);
          return sum;
        },
        {LinearAdd{x, w, y, y}});
}

// Three blocks of two columns: rows 0 and 1, row 2, and the last.
TEST_F(LinearOperations, ScaleAndKeepBlocks) {
  const Tensor matrix = normal(kRows, 6, 1);
  const std::vector<RowRange> blocks = {{0, 2}, {2, 3}, {kRows - 1, kRows}};
  check(matrix,
        [&](std::int64_t i, std::int64_t j) {
          const RowRange& own = blocks[static_cast<std::size_t>(j / 2)];
          return i >= own.first && i < own.last ? 3 * at(matrix, i, j) : 0;
        },
        {Scale{3, matrix}, KeepBlocks{blocks, matrix}});
  const std::vector<std::vector<RowRange>> unfit = {
      {}, {{0, kRows + 1}}, {{-1, 2}}, {{3, 2}}, {{0, 1}, {0, 1}, {0, 1}, {0, 1}}};
  for (const std::vector<RowRange>& each : unfit) {
    refuses(KeepBlocks{each, matrix});
  }
}

TEST_F(LinearOperations, RefuseShapesThatDoNotFit) {
  const Tensor x = normal(kRows, kIn, 1), w = normal(kOut, kIn, 2), y = normal(kRows, kOut, 3);
  refuses(LinearForward{x, y, w});
  refuses(LinearBackwardInput{x, w, y, Accumulate::no});
  refuses(LinearBackwardWeight{x, w, y, Accumulate::no});
}

// 9 tokens of 2 heads of q and one of k and v, of 4 elements each.
TEST_F(LinearOperations, RefuseHeadsThatDoNotFit) {
  const Tensor qkv = normal(kRows, 16, 1), out = normal(kRows, 8, 2), sums = normal(2, kRows, 3),
               weight = normal(1, 4, 4), inverse = normal(kRows, 3, 5),
               rotated = normal(kRows, 16, 6);
  const AttentionShape fits{1, kRows, 2, 4, 1}, whole{1, kRows, 2, 4}, uneven{1, kRows, 2, 4, 3};
  run(Attention{{fits, qkv, out, sums}});
  run(Rotate{{fits, qkv, weight, weight, inverse, {}, {}}, rotated});
  synchronize();
  for (const AttentionShape& shape : {whole, uneven}) {
    refuses(Attention{{shape, qkv, out, sums}});
    refuses(Rotate{{shape, qkv, {}, {}, {}, {}, {}}, qkv});
  }
  refuses(AttentionBackward{{fits, qkv, out, sums}, qkv, qkv});
  refuses(Rotate{{fits, qkv, weight, {}, inverse, {}, {}}, qkv});
  refuses(Rotate{{fits, qkv, weight, weight, weight, {}, {}}, qkv});
  refuses(Rotate{{fits, qkv, {}, {}, {}, {}, {}}, out});
  refuses(
      RotateBackward{{fits, qkv, weight, weight, inverse, weight, {}}, qkv, qkv, Accumulate::no});
}

TEST_F(LinearOperations, RefuseRowsThatDoNotFit) {
  const Tensor wide = normal(kRows, 2 * kIn, 1), y = normal(kRows, kIn, 2), row = normal(1, kIn, 3),
               sums = normal(1, kRows, 4);
  const Tensor targets{sums.span, 1, kRows, DType::int32};
  refuses(SwiGlu{y, y});
  refuses(SwiGlu{wide, y, {}, 0.5f});  // of what is not rounded to fp8
  refuses(SwiGluBackward{wide, y, y});
  const NormTensors norm{wide, row, {}, {}, sums, row, {}};
  refuses(Norm{norm, y});
  refuses(NormBackward{norm, y, y, Accumulate::no, Accumulate::no});
  refuses(CrossEntropyPiece{y, kIn, targets, kRows - 1, sums});
  refuses(CrossEntropyPiece{y, kIn + 1, targets, kRows, sums});
  refuses(Norm{{wide, row, row, sums, sums, row, row}, y});
  refuses(Embedding{targets, wide, {}, y});
}

TEST_F(LinearOperations, RefuseParametersWithoutTheirStates) {
  const Tensor w = normal(1, 8, 1), one = normal(1, 1, 2);
  const Tensor state = normal(1, sizeof(StepState) / sizeof(float), 3);
  refuses(AdamW{{}, state.span, {w, w, w, one, {}}});
  refuses(Sgd{state.span, {w, one, {}, {}, {}}});
  refuses(Sgd{one.span, {w, w, {}, {}, {}}});
  refuses(Clip{state.span, w, 1, 1, one});
  refuses(SumOfSquares{{}, one});
}

}  // namespace
}  // namespace duet
