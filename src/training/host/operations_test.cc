// A linear and its gradients, which are GEMMs of the device's engines, against loops in double;
// what operations refuse.
#include "training/operations/operations.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"

namespace duet {
namespace {

constexpr std::int64_t kRows = 9, kIn = 7, kOut = 11;

class LinearOperations : public ::testing::Test {
 protected:
  Tensor tensor(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      values.push_back(random_normal(seed, static_cast<std::uint64_t>(i)));
    }
    buffers_.push_back(device_.allocate(values.size() * sizeof(float)));
    device_.write(buffers_.back().span(), values.data());
    return {buffers_.back().span(), rows, columns};
  }

  static double at(const Tensor& t, std::int64_t row, std::int64_t column) {
    return static_cast<double>(reinterpret_cast<float*>(t.span.data)[row * t.columns + column]);
  }

  // Runs the operations and compares every element of `result` with `expected`.
  void check(const Tensor& result,
             const std::function<double(std::int64_t, std::int64_t)>& expected,
             const std::vector<AnyOperation>& enqueued) {
    std::vector<double> wanted;
    for (std::int64_t i = 0; i < result.rows; ++i) {
      for (std::int64_t j = 0; j < result.columns; ++j) wanted.push_back(expected(i, j));
    }
    for (const AnyOperation& each : enqueued) operations_->run(*stream_, each);
    stream_->synchronize(10);
    for (std::int64_t i = 0; i < result.count(); ++i) {
      EXPECT_NEAR(at(result, i / result.columns, i % result.columns),
                  wanted[static_cast<std::size_t>(i)], 1e-5);
    }
  }

  std::unique_ptr<Machine> machine_ = open_machine("host");
  Device& device_ = machine_->device(0);
  std::unique_ptr<Operations> operations_ = make_operations(device_);
  std::unique_ptr<Stream> stream_ = device_.make_stream();
  std::vector<Buffer> buffers_;
};

TEST_F(LinearOperations, ForwardWritesOrAdds) {
  const Tensor x = tensor(kRows, kIn, 1), w = tensor(kOut, kIn, 2), y = tensor(kRows, kOut, 3);
  const auto product = [&](std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t k = 0; k < kIn; ++k) sum += at(x, i, k) * at(w, j, k);
    return sum;
  };
  const auto added = [&](std::int64_t i, std::int64_t j) { return at(y, i, j) + product(i, j); };
  const Tensor sum = tensor(kRows, kOut, 4);
  check(sum, added, {LinearAdd{x, w, y, sum}});
  check(y, product, {LinearForward{x, w, y}});
}

TEST_F(LinearOperations, GradientsOfTheInputAndTheWeight) {
  const Tensor x = tensor(kRows, kIn, 1), w = tensor(kOut, kIn, 2), dy = tensor(kRows, kOut, 3),
               dx = tensor(kRows, kIn, 4), dw = tensor(kOut, kIn, 5);
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
  const Tensor w = tensor(kOut, kIn, 2), dy = tensor(kRows, kOut, 3), dx = tensor(kRows, kIn, 4);
  check(dx,
        [&](std::int64_t i, std::int64_t j) {
          double sum = at(dx, i, j);
          for (std::int64_t k = 0; k < kOut; ++k) sum += at(dy, i, k) * at(w, k, j);
          return sum;
        },
        {LinearBackwardInput{dy, w, dx, Accumulate::yes}});
}

TEST_F(LinearOperations, AddToTheResidualItself) {
  const Tensor x = tensor(kRows, kIn, 1), w = tensor(kOut, kIn, 2), y = tensor(kRows, kOut, 3);
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
  const Tensor matrix = tensor(kRows, 6, 1);
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
    EXPECT_THROW(operations_->run(*stream_, KeepBlocks{each, matrix}), BadArgument);
  }
}

TEST_F(LinearOperations, RefuseShapesThatDoNotFit) {
  const Tensor x = tensor(kRows, kIn, 1), w = tensor(kOut, kIn, 2), y = tensor(kRows, kOut, 3);
  EXPECT_THROW(operations_->run(*stream_, LinearForward{x, y, w}), BadArgument);
  EXPECT_THROW(operations_->run(*stream_, LinearBackwardInput{x, w, y, Accumulate::no}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, LinearBackwardWeight{x, w, y, Accumulate::no}),
               BadArgument);
}

// 9 tokens of 2 heads of q and one of k and v, of 4 elements each.
TEST_F(LinearOperations, RefuseHeadsThatDoNotFit) {
  const Tensor qkv = tensor(kRows, 16, 1), out = tensor(kRows, 8, 2), sums = tensor(2, kRows, 3),
               weight = tensor(1, 4, 4), inverse = tensor(kRows, 3, 5),
               rotated = tensor(kRows, 16, 6);
  const AttentionShape fits{1, kRows, 2, 4, 1}, whole{1, kRows, 2, 4}, uneven{1, kRows, 2, 4, 3};
  operations_->run(*stream_, Attention{{fits, qkv, out, sums}});
  operations_->run(*stream_, Rotate{{fits, qkv, weight, weight, inverse, {}, {}}, rotated});
  stream_->synchronize(10);
  for (const AttentionShape& shape : {whole, uneven}) {
    EXPECT_THROW(operations_->run(*stream_, Attention{{shape, qkv, out, sums}}), BadArgument);
    EXPECT_THROW(operations_->run(*stream_, Rotate{{shape, qkv, {}, {}, {}, {}, {}}, qkv}),
                 BadArgument);
  }
  EXPECT_THROW(operations_->run(*stream_, AttentionBackward{{fits, qkv, out, sums}, qkv, qkv}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Rotate{{fits, qkv, weight, {}, inverse, {}, {}}, qkv}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Rotate{{fits, qkv, weight, weight, weight, {}, {}}, qkv}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Rotate{{fits, qkv, {}, {}, {}, {}, {}}, out}),
               BadArgument);
  EXPECT_THROW(operations_->run(
                   *stream_,
                   RotateBackward{
                       {fits, qkv, weight, weight, inverse, weight, {}}, qkv, qkv, Accumulate::no}),
               BadArgument);
}

TEST_F(LinearOperations, RefuseRowsThatDoNotFit) {
  const Tensor wide = tensor(kRows, 2 * kIn, 1), y = tensor(kRows, kIn, 2), row = tensor(1, kIn, 3),
               sums = tensor(1, kRows, 4);
  const Tensor targets{sums.span, 1, kRows, DType::int32};
  EXPECT_THROW(operations_->run(*stream_, SwiGlu{y, y}), BadArgument);
  EXPECT_THROW(operations_->run(*stream_, SwiGluBackward{wide, y, y}), BadArgument);
  const NormTensors norm{wide, row, {}, {}, sums, row, {}};
  EXPECT_THROW(operations_->run(*stream_, Norm{norm, y}), BadArgument);
  EXPECT_THROW(operations_->run(*stream_, NormBackward{norm, y, y, Accumulate::no, Accumulate::no}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, CrossEntropyPiece{y, kIn, targets, kRows - 1, sums}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, CrossEntropyPiece{y, kIn + 1, targets, kRows, sums}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Norm{{wide, row, row, sums, sums, row, row}, y}),
               BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Embedding{targets, wide, {}, y}), BadArgument);
}

TEST_F(LinearOperations, RefuseParametersWithoutTheirStates) {
  const Tensor w = tensor(1, 8, 1), one = tensor(1, 1, 2);
  const Tensor state = tensor(1, sizeof(StepState) / sizeof(float), 3);
  EXPECT_THROW(operations_->run(*stream_, AdamW{{}, state.span, {w, w, w, one, {}}}), BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Sgd{state.span, {w, one, {}, {}, {}}}), BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Sgd{one.span, {w, w, {}, {}, {}}}), BadArgument);
  EXPECT_THROW(operations_->run(*stream_, Clip{state.span, w, 1, 1, one}), BadArgument);
  EXPECT_THROW(operations_->run(*stream_, SumOfSquares{{}, one}), BadArgument);
}

}  // namespace
}  // namespace duet
