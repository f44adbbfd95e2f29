// Layers and losses against values worked out by other means.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "training/host/activations.h"
#include "training/host/attention.h"
#include "training/host/embedding.h"
#include "training/host/layers_fixture.h"
#include "training/host/loss.h"
#include "training/host/norm.h"
#include "training/host/rotary.h"
#include "training/host/vectors.h"

namespace duet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Exponentiate, OfFloatsAgreesWithDouble) {
  constexpr std::size_t kWide = kLanes<float>;
  double largest = 0;
  for (float x = -86.9f; x < 88.0f; x += 0.0371f) {
    Vector<float> v = Vector<float>{} + x;
    exponentiate(v);
    const double exact = std::exp(static_cast<double>(x));
    largest = std::max(largest, std::abs(static_cast<double>(v[kWide - 1]) - exact) / exact);
  }
  EXPECT_LT(largest, 3e-7);
  Vector<float> v = {0.0f, -1000.0f, -std::numeric_limits<float>::infinity(),
                     std::numeric_limits<float>::quiet_NaN()};
  exponentiate(v);
  EXPECT_EQ(v[0], 1.0f);
  EXPECT_EQ(v[1], 0.0f);
  EXPECT_EQ(v[2], 0.0f);
  EXPECT_TRUE(std::isnan(v[3]));
}

TEST(LayerNorm, OfAConstantRowIsTheBias) {
  const std::vector<double> x(7, 3.5), weight = normal_values<double>(7, 1),
                                       bias = normal_values<double>(7, 2);
  std::vector<double> y(7);
  double mean = 0, inverse = 0;
  norm<double>({{x.data(), 1, 7}, weight.data(), bias.data(), &mean, &inverse}, {y.data(), 1, 7});
  EXPECT_EQ(y, bias);
  EXPECT_EQ(mean, 3.5);
  EXPECT_NEAR(inverse, 1 / std::sqrt(1e-5), 1e-9);
}

TEST(LayerNorm, OfTwoValues) {
  // Mean 2, variance 1.
  const std::vector<double> x{1, 3}, weight{2, 4}, bias{10, 20};
  std::vector<double> y(2);
  double mean = 0, inverse = 0;
  norm<double>({{x.data(), 1, 2}, weight.data(), bias.data(), &mean, &inverse}, {y.data(), 1, 2});
  const double expected = 1 / std::sqrt(1.00001);
  EXPECT_NEAR(y[0], 10 - 2 * expected, 1e-14);
  EXPECT_NEAR(y[1], 20 + 4 * expected, 1e-14);
}

TEST(RmsNorm, OfTwoValues) {
  // Mean square 5.
  const std::vector<double> x{1, 3}, weight{2, 4};
  std::vector<double> y(2);
  double inverse = 0;
  norm<double>({{x.data(), 1, 2}, weight.data(), nullptr, nullptr, &inverse}, {y.data(), 1, 2});
  const double expected = 1 / std::sqrt(5.000001);
  EXPECT_NEAR(inverse, expected, 1e-15);
  EXPECT_NEAR(y[0], 2 * expected, 1e-14);
  EXPECT_NEAR(y[1], 12 * expected, 1e-14);
}

TEST(RmsNorm, OfZerosIsFinite) {
  const std::vector<float> x(9, 0.0f), weight(9, 1.0f), dy(9, 1.0f);
  std::vector<float> y(9), dx(9);
  float inverse = 0;
  const NormRows<float> rows{{x.data(), 1, 9}, weight.data(), nullptr, nullptr, &inverse};
  norm(rows, {y.data(), 1, 9});
  EXPECT_EQ(y, x);
  norm_backward_input<float>(rows, {dy.data(), 1, 9}, {dx.data(), 1, 9}, Accumulate::no);
  for (const float value : dx) EXPECT_NEAR(value, 1000, 0.01);
}

TEST(Norms, AddTheirGradientToAnother) {
  const auto x = normal_values<double>(15, 1), weight = normal_values<double>(5, 2),
             dy = normal_values<double>(15, 3), residual = normal_values<double>(15, 4);
  std::vector<double> y(15), mean(3), inverse(3);
  const Matrix<const double> of_x{x.data(), 3, 5};
  for (const NormRows<double>& rows :
       {NormRows<double>{of_x, weight.data(), weight.data(), mean.data(), inverse.data()},
        NormRows<double>{of_x, weight.data(), nullptr, nullptr, inverse.data()}}) {
    std::vector<double> written(15), added = residual, in_place = dy;
    norm(rows, {y.data(), 3, 5});
    norm_backward_input(rows, {dy.data(), 3, 5}, {written.data(), 3, 5}, Accumulate::no);
    norm_backward_input(rows, {dy.data(), 3, 5}, {added.data(), 3, 5}, Accumulate::yes);
    for (std::size_t i = 0; i < 15; ++i) EXPECT_NEAR(added[i], residual[i] + written[i], 1e-14);
    norm_backward_input<double>(rows, {in_place.data(), 3, 5}, {in_place.data(), 3, 5},
                                Accumulate::no);
    EXPECT_EQ(in_place, written);
  }
}

TEST(Gelu, AtZeroAtOneAndFarOut) {
  const std::vector<double> x{0, 1, 30, -30};
  std::vector<double> y(4), dx(4), dy(4, 1.0);
  gelu(x.data(), y.data(), 4);
  gelu_backward(x.data(), dy.data(), dx.data(), 4);
  const double u = std::sqrt(2 / 3.14159265358979323846) * 1.044715;
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 0.5 * (1 + std::tanh(u)), 1e-15);
  EXPECT_EQ(y[2], 30);
  EXPECT_NEAR(y[3], 0, 1e-100);
  EXPECT_EQ(dx[0], 0.5);
  EXPECT_EQ(dx[2], 1);
  EXPECT_NEAR(dx[3], 0, 1e-100);
}

TEST(Gelu, OfFloatsIsFiniteFarOut) {
  const std::vector<float> x{1e4f, -1e4f};
  std::vector<float> y(2), dx(2), dy(2, 1.0f);
  gelu(x.data(), y.data(), 2);
  gelu_backward(x.data(), dy.data(), dx.data(), 2);
  EXPECT_EQ(y[0], 1e4f);
  EXPECT_NEAR(y[1], 0, 1e-30);
  EXPECT_EQ(dx[0], 1.0f);
  EXPECT_NEAR(dx[1], 0, 1e-20);
}

TEST(Relu, KeepsWhatIsPositive) {
  const std::vector<double> x{-2, 0, 3}, dy{5, 6, 7}, nan{kNan};
  std::vector<double> y(3), dx(3), of_nan(1);
  relu(x.data(), y.data(), 3);
  relu_backward(x.data(), dy.data(), dx.data(), 3);
  EXPECT_EQ(y, (std::vector<double>{0, 0, 3}));
  EXPECT_EQ(dx, (std::vector<double>{0, 0, 7}));
  relu(nan.data(), of_nan.data(), 1);
  EXPECT_TRUE(std::isnan(of_nan[0]));
}

TEST(SwiGlu, AgreesWithPlainLoops) {
  constexpr std::size_t kRows = 3, kColumns = 11;
  const auto gate_up = normal_values<double>(2 * kRows * kColumns, 1);
  std::vector<double> y(kRows * kColumns), expected;
  for (std::size_t i = 0; i < kRows * kColumns; ++i) {
    const std::size_t at = i / kColumns * 2 * kColumns + i % kColumns;
    expected.push_back(gate_up[at] / (1 + std::exp(-gate_up[at])) * gate_up[at + kColumns]);
  }
  swiglu<double>({gate_up.data(), kRows, 2 * kColumns}, {y.data(), kRows, kColumns});
  EXPECT_LE(relative_error(y, expected), 1e-15);
}

TEST(SwiGlu, OfFloatsIsFiniteFarOut) {
  const std::vector<float> gate_up{1e4f, -1e4f, 2, 3}, dy{1, 1};
  std::vector<float> y(2), d(4);
  swiglu<float>({gate_up.data(), 1, 4}, {y.data(), 1, 2});
  swiglu_backward<float>({gate_up.data(), 1, 4}, {dy.data(), 1, 2}, {d.data(), 1, 4});
  EXPECT_EQ(y[0], 2e4f);
  EXPECT_NEAR(y[1], 0, 1e-30);
  EXPECT_EQ(d[0], 2.0f);
  EXPECT_NEAR(d[1], 0, 1e-30);
  EXPECT_EQ(d[2], 1e4f);
  EXPECT_NEAR(d[3], 0, 1e-30);
}

TEST(Embedding, AddsTokenAndPosition) {
  const std::vector<double> token_table{1, 2, 3, 4, 5, 6}, position_table{10, 20, 30, 40};
  const std::vector<std::int32_t> tokens{2, 0, 1, 1}, outside{0, 0, 3, 0};
  std::vector<double> x(8);
  const auto run = [&](const std::vector<std::int32_t>& row_tokens) {
    embedding<double>(row_tokens.data(), 2, {token_table.data(), 3, 2},
                      {position_table.data(), 2, 2}, {x.data(), 4, 2});
  };
  run(tokens);
  EXPECT_EQ(x, (std::vector<double>{15, 26, 31, 42, 13, 24, 33, 44}));
  EXPECT_THROW(run(outside), BadArgument);
}

TEST(Embedding, WithoutPositionsIsTheTokens) {
  const std::vector<double> token_table{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> tokens{2, 0, 1, 1};
  std::vector<double> x(8);
  embedding<double>(tokens.data(), 0, {token_table.data(), 3, 2}, {nullptr, 0, 0},
                    {x.data(), 4, 2});
  EXPECT_EQ(x, (std::vector<double>{5, 6, 1, 2, 3, 4, 3, 4}));
}

TEST(Embedding, OfAPartOfTheVocabularyLeavesOutOtherTokens) {
  const std::vector<double> table{1, 2, 3, 4}, positions{10, 20}, dx{1, 1, 2, 2, 4, 4, 8, 8};
  const std::vector<std::int32_t> tokens{2, 0, 1, 3}, outside{0, 0, 4, 0};
  const VocabularyPart part{1, 4};  // tokens 1 and 2
  std::vector<double> x(8), dtable(4), dpositions(2);
  const auto run = [&](const std::vector<std::int32_t>& row_tokens) {
    embedding<double>(row_tokens.data(), 1, {table.data(), 2, 2}, {positions.data(), 1, 2},
                      {x.data(), 4, 2}, part);
  };
  run(tokens);
  EXPECT_EQ(x, (std::vector<double>{13, 24, 10, 20, 11, 22, 10, 20}));
  EXPECT_THROW(run(outside), BadArgument);
  embedding_backward<double>(tokens.data(), 1, {dx.data(), 4, 2}, {dtable.data(), 2, 2},
                             {dpositions.data(), 1, 2}, part);
  EXPECT_EQ(dtable, (std::vector<double>{4, 4, 1, 1}));
  EXPECT_EQ(dpositions, (std::vector<double>{15, 15}));
}

// Plain loops over one head: softmax of the scores of all keys up to the query.
std::vector<double> plain_attention(const AttentionShape& s, const std::vector<double>& qkv) {
  std::vector<double> out(static_cast<std::size_t>(s.elements()));
  const std::int64_t keys = s.kv_heads == 0 ? s.heads : s.kv_heads;
  // `part`: 0 q, 1 k, 2 v; `h`: a head of q.
  const auto at = [&](std::int64_t b, std::int64_t t, int part, std::int64_t h, std::int64_t d) {
    const std::int64_t head = part == 0 ? h : s.heads + (part - 1) * keys + h / (s.heads / keys);
    return qkv[static_cast<std::size_t>(
        ((b * s.tokens + t) * (s.heads + 2 * keys) + head) * s.head_dim + d)];
  };
  for (std::int64_t row = 0; row < s.batch * s.tokens * s.heads; ++row) {
    const std::int64_t h = row % s.heads, t = row / s.heads % s.tokens,
                       b = row / s.heads / s.tokens;
    double total = 0;
    for (std::int64_t key = 0; key <= t; ++key) {
      double score = 0;
      for (std::int64_t d = 0; d < s.head_dim; ++d)
        score += at(b, t, 0, h, d) * at(b, key, 1, h, d);
      const double weight = std::exp(score / std::sqrt(static_cast<double>(s.head_dim)));
      total += weight;
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
        out[static_cast<std::size_t>(row * s.head_dim + d)] += weight * at(b, key, 2, h, d);
      }
    }
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      out[static_cast<std::size_t>(row * s.head_dim + d)] /= total;
    }
  }
  return out;
}

struct AttentionResult {
  std::vector<double> out, log_sum_exp;
};

AttentionResult attend_all(const AttentionShape& s, const std::vector<double>& qkv) {
  AttentionResult result{std::vector<double>(static_cast<std::size_t>(s.elements())),
                         std::vector<double>(static_cast<std::size_t>(s.rows()))};
  attention(s, qkv.data(), result.out.data(), result.log_sum_exp.data());
  return result;
}

TEST(Attention, AgreesWithPlainLoops) {
  for (const AttentionShape& s : {AttentionShape{2, 9, 3, 5},
                                  {1, 200, 2, 33},
                                  {3, 1, 1, 1},
                                  {2, 9, 6, 5, 2},
                                  {1, 130, 4, 33, 1},
                                  {2, 9, 3, 5, 3}}) {
    const auto qkv = normal_values<double>(s.qkv_elements(), 1);
    EXPECT_LE(relative_error(attend_all(s, qkv).out, plain_attention(s, qkv)), 1e-13)
        << s.tokens << " tokens, " << s.kv_heads << " heads of k and v";
  }
}

TEST(Attention, OfZerosIsTheMeanOfTheValuesSoFar) {
  const AttentionShape s{1, 100, 1, 1};
  std::vector<double> qkv(300, 0.0);
  for (std::size_t t = 0; t < 100; ++t) qkv[3 * t + 2] = static_cast<double>(t);
  const auto result = attend_all(s, qkv);
  for (std::size_t t = 0; t < 100; ++t) {
    EXPECT_NEAR(result.out[t], static_cast<double>(t) / 2, 1e-12);
    EXPECT_NEAR(result.log_sum_exp[t], std::log(static_cast<double>(t + 1)), 1e-13);
  }
}

TEST(Attention, IsCausal) {
  const AttentionShape s{1, 150, 2, 5};
  auto qkv = normal_values<double>(3 * s.elements(), 1);
  const auto before = attend_all(s, qkv);
  for (const std::int64_t changed : {1, 63, 64, 100, 149}) {
    auto other = qkv;
    for (std::int64_t i = 0; i < 3 * s.width(); ++i) {
      other[static_cast<std::size_t>(changed * 3 * s.width() + i)] += 1.5;
    }
    const auto after = attend_all(s, other);
    const auto same = changed * s.width();
    EXPECT_TRUE(std::equal(before.out.begin(), before.out.begin() + same, after.out.begin()));
    EXPECT_FALSE(std::equal(before.out.begin(), before.out.begin() + same + 1, after.out.begin()));
  }
}

TEST(Attention, OfLargeScoresIsFinite) {
  const AttentionShape s{1, 70, 1, 4};
  auto qkv = normal_values<float>(3 * s.elements(), 1);
  for (float& value : qkv) value *= 300;
  std::vector<float> out(280), log_sum_exp(70), dqkv(840);
  attention(s, qkv.data(), out.data(), log_sum_exp.data());
  attention_backward(s, qkv.data(), out.data(), log_sum_exp.data(), out.data(), dqkv.data());
  for (const float value : out) EXPECT_TRUE(std::isfinite(value));
  for (const float value : dqkv) EXPECT_TRUE(std::isfinite(value));
}

// Plain loops in the form of Hugging Face's Qwen3: the norm of each head, n * cos + half * sin,
// where the second half of n, negated, and then the first are `half`.
std::vector<double> plain_rotation(const RotaryHeads<double>& in) {
  const AttentionShape& s = in.shape;
  std::vector<double> rotated(in.qkv, in.qkv + s.qkv_elements());
  const std::int64_t dim = s.head_dim, heads = s.heads + 2 * s.key_heads();
  for (std::int64_t head = 0; head < s.batch * s.tokens * heads; ++head) {
    if (head % heads >= s.heads + s.key_heads()) continue;
    const double* const weight = head % heads < s.heads ? in.q_weight : in.k_weight;
    std::vector<double> n(in.qkv + head * dim, in.qkv + (head + 1) * dim), half;
    double squares = 0;
    for (const double value : n) squares += value * value;
    for (std::size_t d = 0; d < n.size(); ++d) {
      if (weight != nullptr) {
        n[d] *= weight[d] / std::sqrt(squares / static_cast<double>(dim) + 1e-6);
      }
    }
    for (std::size_t d = n.size() / 2; d < n.size(); ++d) half.push_back(-n[d]);
    for (std::size_t d = 0; d < n.size() / 2; ++d) half.push_back(n[d]);
    for (std::int64_t d = 0; d < dim; ++d) {
      const double share = static_cast<double>(2 * (d % (dim / 2))) / static_cast<double>(dim);
      const double angle = static_cast<double>(head / heads % s.tokens) / std::pow(in.theta, share);
      const auto at = static_cast<std::size_t>(d);
      rotated[static_cast<std::size_t>(head * dim + d)] =
          n[at] * std::cos(angle) + half[at] * std::sin(angle);
    }
  }
  return rotated;
}

TEST(Rotate, AgreesWithPlainLoops) {
  for (const AttentionShape& s : {AttentionShape{2, 9, 3, 6}, {3, 40, 6, 34, 2}, {1, 5, 4, 8, 1}}) {
    const auto qkv = normal_values<double>(s.qkv_elements(), 1),
               q_weight = normal_values<double>(s.head_dim, 2),
               k_weight = normal_values<double>(s.head_dim, 3);
    std::vector<double> rotated(qkv.size()), inverse(qkv.size());
    for (const RotaryHeads<double>& in :
         {RotaryHeads<double>{s, 1e6, qkv.data(), q_weight.data(), k_weight.data()},
          RotaryHeads<double>{s, 1e4, qkv.data(), nullptr, nullptr}}) {
      rotate_heads(in, rotated.data(), inverse.data());
      EXPECT_LE(relative_error(rotated, plain_rotation(in)), 1e-14) << s.tokens << " " << in.theta;
    }
  }
}

// A head of two elements turns by 1 a token.
TEST(Rotate, OfFloatsAtTheLastOfManyTokens) {
  const AttentionShape s{1, 8192, 1, 2};
  std::vector<float> qkv(static_cast<std::size_t>(s.qkv_elements()), 0.0f), rotated(qkv.size());
  for (std::size_t i = 0; i < qkv.size(); i += 2) qkv[i] = 1;
  rotate_heads<float>({s, 1e6, qkv.data(), nullptr, nullptr}, rotated.data(), nullptr);
  const float* const last = rotated.data() + 8191 * s.qkv_width();
  EXPECT_NEAR(last[0], std::cos(8191.0), 1e-7);
  EXPECT_NEAR(last[1], std::sin(8191.0), 1e-7);
  EXPECT_EQ(last[4], 1.0f);
}

TEST(Rotate, BackwardMayReplaceItsInput) {
  const AttentionShape s{2, 9, 4, 6, 2};
  const auto qkv = normal_values<double>(s.qkv_elements(), 1), weight = normal_values<double>(6, 2),
             drotated = normal_values<double>(s.qkv_elements(), 3);
  std::vector<double> rotated(qkv.size()), inverse(qkv.size()), written(qkv.size()), dweight(6);
  auto replaced = drotated;
  const RotaryHeads<double> in{s, 1e6, qkv.data(), weight.data(), weight.data()};
  rotate_heads(in, rotated.data(), inverse.data());
  rotate_heads_backward(in, inverse.data(), drotated.data(), written.data(), dweight.data(),
                        dweight.data());
  rotate_heads_backward(in, inverse.data(), replaced.data(), replaced.data(), dweight.data(),
                        dweight.data());
  EXPECT_EQ(replaced, written);
}

TEST(CrossEntropy, OfEqualLogitsIsTheLogarithmOfTheVocabulary) {
  std::vector<double> logits(2 * 16, 4.25), losses(2);
  const std::vector<std::int32_t> targets{0, 10};
  const double loss =
      cross_entropy<double>({logits.data(), 2, 16}, 11, targets.data(), 0.5, losses.data());
  EXPECT_NEAR(loss, std::log(11.0), 1e-14);
  EXPECT_NEAR(losses[1], std::log(11.0), 1e-14);
  EXPECT_NEAR(logits[0], 0.5 * (1.0 / 11 - 1), 1e-15);
  EXPECT_NEAR(logits[1], 0.5 / 11, 1e-15);
  EXPECT_NEAR(logits[16 + 10], 0.5 * (1.0 / 11 - 1), 1e-15);
}

TEST(CrossEntropy, DoesNotReadThePaddingAndMakesItZero) {
  for (const double padding : {kNan, kInfinity, 1e300}) {
    auto logits = normal_values<double>(5 * 16, 1), clean = logits;
    std::vector<double> losses(5), clean_losses(5);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (i % 16 >= 11) logits[i] = padding, clean[i] = 0;
    }
    const std::vector<std::int32_t> targets{0, 10, 3, 3, 7};
    const double loss =
        cross_entropy<double>({logits.data(), 5, 16}, 11, targets.data(), 0.2, losses.data());
    EXPECT_EQ(loss, cross_entropy<double>({clean.data(), 5, 16}, 11, targets.data(), 0.2,
                                          clean_losses.data()));
    EXPECT_EQ(logits, clean);
    EXPECT_EQ(losses, clean_losses);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (i % 16 >= 11) {
        EXPECT_EQ(logits[i], 0);
      }
    }
  }
}

TEST(CrossEntropy, RefusesTargetsInThePadding) {
  std::vector<double> logits(16), losses(1);
  for (const std::int32_t target : {-1, 11}) {
    EXPECT_THROW(cross_entropy<double>({logits.data(), 1, 16}, 11, &target, 1, losses.data()),
                 BadArgument);
  }
}

// Columns [0, 4) and [4, 11).
TEST(CrossEntropy, OfPartsIsThatOfTheVocabulary) {
  const auto logits = normal_values<double>(5 * 11, 1);
  auto whole = logits;
  const std::vector<std::int32_t> targets{0, 10, 3, 4, 7};
  std::vector<double> losses(5), part_losses(5), sums(2 * 5 * 3);
  cross_entropy<double>({whole.data(), 5, 11}, 11, targets.data(), 0.2, losses.data());
  const std::int64_t firsts[] = {0, 4, 11};
  std::vector<std::vector<double>> parts;
  const auto of_both = [&](const auto& call) {
    for (int p = 0; p < 2; ++p) call(p, firsts[p + 1] - firsts[p], VocabularyPart{firsts[p], 11});
  };
  of_both([&](int p, std::int64_t columns, const VocabularyPart& part) {
    auto& own = parts.emplace_back();
    for (int row = 0; row < 5; ++row) {
      const auto begin = logits.begin() + row * 11 + part.first;
      own.insert(own.end(), begin, begin + columns);
      own.push_back(kNan);  // padding
    }
    cross_entropy_sums<double>({own.data(), 5, columns + 1}, columns, targets.data(), part,
                               sums.data() + 15 * p);
  });
  of_both([&](int p, std::int64_t columns, const VocabularyPart& part) {
    double* const own = parts[static_cast<std::size_t>(p)].data();
    cross_entropy_of_part<double>({own, 5, columns + 1}, columns, targets.data(), part,
                                  {sums.data(), 2}, 0.2, part_losses.data());
    for (int row = 0; row < 5; ++row) {
      EXPECT_NEAR(part_losses[static_cast<std::size_t>(row)], losses[static_cast<std::size_t>(row)],
                  1e-14);
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>(row * 11 + part.first + j);
        EXPECT_NEAR(own[row * (columns + 1) + j], whole[at], 1e-15);
      }
      EXPECT_EQ(own[row * (columns + 1) + columns], 0);
    }
  });
}

TEST(CrossEntropy, OfANanIsNan) {
  std::vector<float> logits(20, 1.0f), losses(1);
  logits[3] = std::numeric_limits<float>::quiet_NaN();
  const std::int32_t target = 0;
  EXPECT_TRUE(
      std::isnan(cross_entropy<float>({logits.data(), 1, 20}, 20, &target, 1, losses.data())));
}

TEST(MeanSquaredError, OfThreeValues) {
  const std::vector<double> prediction{1, 2, 3}, target{1, 4, 0};
  std::vector<double> gradient(3);
  double row_loss = 0;
  EXPECT_NEAR(mean_squared_error<double>({prediction.data(), 1, 3}, {target.data(), 1, 3}, 1.0 / 3,
                                         {gradient.data(), 1, 3}, &row_loss),
              13.0 / 3, 1e-15);
  EXPECT_NEAR(gradient[0], 0, 1e-15);
  EXPECT_NEAR(gradient[1], -4.0 / 3, 1e-15);
  EXPECT_NEAR(gradient[2], 2, 1e-15);
}

}  // namespace
}  // namespace duet
