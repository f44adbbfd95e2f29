// What holds for every layer and loss: its backward is its derivative, float agrees with double,
// the number of threads changes no bit, and gradients of parameters are added up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "training/host/activations.h"
#include "training/host/attention.h"
#include "training/host/embedding.h"
#include "training/host/layers_fixture.h"
#include "training/host/loss.h"
#include "training/host/norm.h"
#include "training/host/rotary.h"

namespace duet {
namespace {

template <class Real>
using Tensors = std::vector<std::vector<Real>>;

template <class Real>
Matrix<const Real> matrix(const std::vector<Real>& values, std::int64_t rows,
                          std::int64_t columns) {
  return {values.data(), rows, columns};
}
template <class Real>
Matrix<Real> matrix(std::vector<Real>& values, std::int64_t rows, std::int64_t columns) {
  return {values.data(), rows, columns};
}

// Each layer has: inputs(), first activations and then, from kFirstParameter on, parameters;
// forward() of them; backward(), which leaves in d[i] the gradient of forward() . dy by inputs[i].

namespace layers {

template <int kRows, int kWidth, bool kCentred>
struct Norm {
  static constexpr std::size_t kFirstParameter = 1;

  template <class Real>
  static Tensors<Real> inputs() {
    Tensors<Real> all{normal_values<Real>(kRows * kWidth, 1), normal_values<Real>(kWidth, 2)};
    if (kCentred) all.push_back(normal_values<Real>(kWidth, 3));
    return all;
  }

  template <class Real>
  struct Rows {
    explicit Rows(const Tensors<Real>& in)
        : norm{matrix(in[0], kRows, kWidth), in[1].data(), kCentred ? in[2].data() : nullptr,
               kCentred ? mean.data() : nullptr, inverse.data()} {}
    std::vector<Real> y = std::vector<Real>(kRows * kWidth), mean = std::vector<Real>(kRows),
                      inverse = mean;
    NormRows<Real> norm;
  };

  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    Rows<Real> rows(in);
    norm(rows.norm, matrix(rows.y, kRows, kWidth));
    return rows.y;
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    Rows<Real> rows(in);
    norm(rows.norm, matrix(rows.y, kRows, kWidth));
    const Matrix<const Real> dy_rows = matrix(dy, kRows, kWidth);
    norm_backward_input(rows.norm, dy_rows, matrix(d[0], kRows, kWidth), Accumulate::no);
    norm_backward_parameters(rows.norm, dy_rows, d[1].data(), kCentred ? d[2].data() : nullptr);
  }
};

template <int kCount>
struct Gelu {
  static constexpr std::size_t kFirstParameter = 1;

  template <class Real>
  static Tensors<Real> inputs() {
    return {normal_values<Real>(kCount, 1)};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    std::vector<Real> y(kCount);
    gelu(in[0].data(), y.data(), kCount);
    return y;
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    gelu_backward(in[0].data(), dy.data(), d[0].data(), kCount);
  }
};

template <int kCount>
struct Relu : Gelu<kCount> {
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    std::vector<Real> y(kCount);
    relu(in[0].data(), y.data(), kCount);
    return y;
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    relu_backward(in[0].data(), dy.data(), d[0].data(), kCount);
  }
};

template <int kRows, int kColumns>
struct SwiGlu {
  static constexpr std::size_t kFirstParameter = 1;

  template <class Real>
  static Tensors<Real> inputs() {
    return {normal_values<Real>(2 * kRows * kColumns, 1)};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    std::vector<Real> y(kRows * kColumns);
    swiglu(matrix(in[0], kRows, 2 * kColumns), matrix(y, kRows, kColumns));
    return y;
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    swiglu_backward(matrix(in[0], kRows, 2 * kColumns), matrix(dy, kRows, kColumns),
                    matrix(d[0], kRows, 2 * kColumns));
  }
};

// The last position of the table is not used, and tokens occur several times.
template <int kBatch, int kLength, int kVocabulary, int kWidth>
struct Embedding {
  static constexpr std::size_t kFirstParameter = 0;

  static std::vector<std::int32_t> tokens() {
    std::vector<std::int32_t> tokens(kBatch * kLength);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = static_cast<std::int32_t>(random_word(4, i) % kVocabulary);
    }
    return tokens;
  }
  template <class Real>
  static Tensors<Real> inputs() {
    return {normal_values<Real>(kVocabulary * kWidth, 1),
            normal_values<Real>((kLength + 1) * kWidth, 2)};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    std::vector<Real> x(kBatch * kLength * kWidth);
    embedding(tokens().data(), kLength, matrix(in[0], kVocabulary, kWidth),
              matrix(in[1], kLength + 1, kWidth), matrix(x, kBatch * kLength, kWidth));
    return x;
  }
  template <class Real>
  static void backward(const Tensors<Real>&, const std::vector<Real>& dy, Tensors<Real>& d) {
    embedding_backward(tokens().data(), kLength, matrix(dy, kBatch * kLength, kWidth),
                       matrix(d[0], kVocabulary, kWidth), matrix(d[1], kLength + 1, kWidth));
  }
};

// Without positions.
template <int kRows, int kVocabulary, int kWidth>
struct TokenEmbedding {
  static constexpr std::size_t kFirstParameter = 0;

  static std::vector<std::int32_t> tokens() {
    return Embedding<1, kRows, kVocabulary, kWidth>::tokens();
  }
  template <class Real>
  static Tensors<Real> inputs() {
    return {normal_values<Real>(kVocabulary * kWidth, 1)};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    std::vector<Real> x(kRows * kWidth);
    embedding<Real>(tokens().data(), 0, matrix(in[0], kVocabulary, kWidth), {nullptr, 0, 0},
                    matrix(x, kRows, kWidth));
    return x;
  }
  template <class Real>
  static void backward(const Tensors<Real>&, const std::vector<Real>& dy, Tensors<Real>& d) {
    embedding_backward<Real>(tokens().data(), 0, matrix(dy, kRows, kWidth),
                             matrix(d[0], kVocabulary, kWidth), {nullptr, 0, 0});
  }
};

template <int kBatch, int kTokens, int kHeads, int kHeadDim, int kKvHeads = 0>
struct Attention {
  static constexpr std::size_t kFirstParameter = 1;
  static constexpr AttentionShape kShape{kBatch, kTokens, kHeads, kHeadDim, kKvHeads};

  template <class Real>
  static Tensors<Real> inputs() {
    return {normal_values<Real>(kShape.qkv_elements(), 1)};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    std::vector<Real> out(static_cast<std::size_t>(kShape.elements()));
    std::vector<Real> log_sum_exp(static_cast<std::size_t>(kShape.rows()));
    attention(kShape, in[0].data(), out.data(), log_sum_exp.data());
    return out;
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    std::vector<Real> out(static_cast<std::size_t>(kShape.elements()));
    std::vector<Real> log_sum_exp(static_cast<std::size_t>(kShape.rows()));
    attention(kShape, in[0].data(), out.data(), log_sum_exp.data());
    attention_backward(kShape, in[0].data(), out.data(), log_sum_exp.data(), dy.data(),
                       d[0].data());
  }
};

// Without weights heads are only rotated.
template <int kBatch, int kTokens, int kHeads, int kHeadDim, int kKvHeads, bool kWeights = true>
struct Rotate {
  static constexpr std::size_t kFirstParameter = 1;
  static constexpr AttentionShape kShape{kBatch, kTokens, kHeads, kHeadDim, kKvHeads};

  template <class Real>
  static Tensors<Real> inputs() {
    Tensors<Real> in{normal_values<Real>(kShape.qkv_elements(), 1)};
    if (kWeights) in.push_back(normal_values<Real>(kHeadDim, 2));
    if (kWeights) in.push_back(normal_values<Real>(kHeadDim, 3));
    return in;
  }
  template <class Real>
  static RotaryHeads<Real> heads(const Tensors<Real>& in) {
    return {kShape, 100, in[0].data(), kWeights ? in[1].data() : nullptr,
            kWeights ? in[2].data() : nullptr};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    std::vector<Real> rotated(in[0].size()), inverse(in[0].size() / kHeadDim);
    rotate_heads(heads(in), rotated.data(), inverse.data());
    return rotated;
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    std::vector<Real> rotated(in[0].size()), inverse(in[0].size() / kHeadDim);
    rotate_heads(heads(in), rotated.data(), inverse.data());
    rotate_heads_backward(heads(in), inverse.data(), dy.data(), d[0].data(),
                          kWeights ? d[1].data() : nullptr, kWeights ? d[2].data() : nullptr);
  }
};

// Its result is the mean loss. The padding holds NaN.
template <int kRows, int kVocabulary, int kPadded>
struct CrossEntropy {
  static constexpr std::size_t kFirstParameter = 1;

  static std::vector<std::int32_t> targets() {
    std::vector<std::int32_t> targets(kRows);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<std::int32_t>(random_word(4, i) % kVocabulary);
    }
    return targets;
  }
  template <class Real>
  static Tensors<Real> inputs() {
    auto logits = normal_values<Real>(kRows * kPadded, 1);
    for (int i = 0; i < kRows * kPadded; ++i) {
      if (i % kPadded < kVocabulary) continue;
      logits[static_cast<std::size_t>(i)] = std::numeric_limits<Real>::quiet_NaN();
    }
    return {logits};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    Tensors<Real> d = in;
    return {static_cast<Real>(replace(d[0], 1))};
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    d[0] = in[0];
    replace(d[0], static_cast<double>(dy[0]) / kRows);
  }
  template <class Real>
  static double replace(std::vector<Real>& logits, double scale) {
    std::vector<Real> row_losses(kRows);
    return cross_entropy(matrix(logits, kRows, kPadded), kVocabulary, targets().data(), scale,
                         row_losses.data());
  }
};

template <int kRows, int kColumns>
struct MeanSquaredError {
  static constexpr std::size_t kFirstParameter = 1;

  template <class Real>
  static Tensors<Real> inputs() {
    return {normal_values<Real>(kRows * kColumns, 1)};
  }
  template <class Real>
  static std::vector<Real> forward(const Tensors<Real>& in) {
    Tensors<Real> d = in;
    return {static_cast<Real>(derive(in, 1, d))};
  }
  template <class Real>
  static void backward(const Tensors<Real>& in, const std::vector<Real>& dy, Tensors<Real>& d) {
    derive(in, static_cast<double>(dy[0]) / (kRows * kColumns), d);
  }
  template <class Real>
  static double derive(const Tensors<Real>& in, double scale, Tensors<Real>& d) {
    const auto target = normal_values<Real>(kRows * kColumns, 2);
    std::vector<Real> row_losses(kRows);
    return mean_squared_error(matrix(in[0], kRows, kColumns), matrix(target, kRows, kColumns),
                              scale, matrix(d[0], kRows, kColumns), row_losses.data());
  }
};

// Odd shapes of one task, and shapes of several tasks and blocks with a rest.
using All =
    ::testing::Types<Norm<5, 7, true>, Norm<13, 150, true>, Norm<5, 7, false>, Norm<13, 150, false>,
                     Gelu<35>, Gelu<9001>, Relu<35>, Relu<9001>, SwiGlu<5, 7>, SwiGlu<9, 150>,
                     Embedding<2, 5, 4, 7>, Embedding<3, 17, 11, 150>, TokenEmbedding<9, 4, 7>,
                     TokenEmbedding<51, 11, 150>, Attention<2, 9, 3, 5>, Attention<1, 150, 2, 20>,
                     Attention<1, 64, 1, 64>, Attention<2, 9, 6, 5, 2>, Attention<1, 70, 3, 20, 1>,
                     Attention<3, 7, 4, 3, 4>, Rotate<2, 5, 4, 6, 2>, Rotate<3, 23, 3, 34, 1>,
                     Rotate<2, 9, 2, 10, 0>, Rotate<2, 5, 4, 6, 2, false>, CrossEntropy<5, 11, 16>,
                     CrossEntropy<37, 300, 320>, MeanSquaredError<5, 7>, MeanSquaredError<33, 65>>;

}  // namespace layers

template <class T>
class EveryLayer : public ::testing::Test {};
TYPED_TEST_SUITE(EveryLayer, layers::All, );

template <class Real>
struct Derived {
  std::vector<Real> output;
  Tensors<Real> gradients;  // of the parameters from zeros on
};

template <class Layer, class Real>
Derived<Real> derive(const Tensors<Real>& inputs) {
  Derived<Real> derived{Layer::forward(inputs), inputs};
  for (auto& gradient : derived.gradients) std::fill(gradient.begin(), gradient.end(), Real(0));
  const auto count = static_cast<std::int64_t>(derived.output.size());
  Layer::backward(inputs, normal_values<Real>(count, 9), derived.gradients);
  return derived;
}

// The derivative of forward() . dy by element i of input `input`, by central differences.
template <class Layer>
double difference_quotient(Tensors<double>& inputs, std::size_t input, std::size_t i,
                           const std::vector<double>& dy) {
  constexpr double kStep = 1e-5;
  const double before = inputs[input][i];
  inputs[input][i] = before + kStep;
  const auto above = Layer::forward(inputs);
  inputs[input][i] = before - kStep;
  const auto below = Layer::forward(inputs);
  inputs[input][i] = before;
  double sum = 0;
  for (std::size_t k = 0; k < dy.size(); ++k) sum += dy[k] * (above[k] - below[k]);
  return sum / (2 * kStep);
}

TYPED_TEST(EveryLayer, BackwardIsTheDerivative) {
  auto inputs = TypeParam::template inputs<double>();
  const OpenMpThreads guard(1);
  const auto [output, gradients] = derive<TypeParam>(inputs);
  const auto dy = normal_values<double>(static_cast<std::int64_t>(output.size()), 9);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    // All elements of small inputs, about 100 of others.
    const std::size_t size = inputs[input].size(), step = size <= 1000 ? 1 : size / 100;
    std::vector<double> expected, got;
    for (std::size_t i = 0; i < size; i += step) {
      expected.push_back(difference_quotient<TypeParam>(inputs, input, i, dy));
      got.push_back(gradients[input][i]);
    }
    EXPECT_LE(relative_error(got, expected), 1e-6) << "input " << input;
  }
}

TYPED_TEST(EveryLayer, FloatAgreesWithDouble) {
  const auto single = derive<TypeParam>(TypeParam::template inputs<float>());
  const auto expected = derive<TypeParam>(TypeParam::template inputs<double>());
  EXPECT_LE(relative_error(single.output, expected.output), 1e-5);
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    EXPECT_LE(relative_error(single.gradients[i], expected.gradients[i]), 1e-5) << "input " << i;
  }
}

template <class Layer, class Real>
Derived<Real> derive_with_threads(int threads) {
  const OpenMpThreads guard(threads);
  return derive<Layer>(Layer::template inputs<Real>());
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

template <class Layer, class Real>
void expect_same_with_threads() {
  const auto one = derive_with_threads<Layer, Real>(1), three = derive_with_threads<Layer, Real>(3);
  EXPECT_TRUE(same_bits(one.output, three.output));
  for (std::size_t i = 0; i < one.gradients.size(); ++i) {
    EXPECT_TRUE(same_bits(one.gradients[i], three.gradients[i])) << "input " << i;
  }
}

TYPED_TEST(EveryLayer, HasTheSameBitsWithOneAndThreeThreads) {
  expect_same_with_threads<TypeParam, float>();
  expect_same_with_threads<TypeParam, double>();
}

TYPED_TEST(EveryLayer, AddsToGradientsOfParametersAndWritesThoseOfActivations) {
  const auto inputs = TypeParam::template inputs<double>();
  const auto once = derive<TypeParam>(inputs);
  auto twice = once.gradients;
  for (std::size_t i = 0; i < TypeParam::kFirstParameter; ++i) {
    std::fill(twice[i].begin(), twice[i].end(), std::numeric_limits<double>::quiet_NaN());
  }
  const auto count = static_cast<std::int64_t>(once.output.size());
  TypeParam::backward(inputs, normal_values<double>(count, 9), twice);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto expected = once.gradients[i];
    if (i >= TypeParam::kFirstParameter) {
      for (double& value : expected) value *= 2;
    }
    EXPECT_LE(relative_error(twice[i], expected), 1e-14) << "input " << i;
  }
}

}  // namespace
}  // namespace duet
