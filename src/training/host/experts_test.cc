#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "core/message_fixture.h"
#include "training/operations/on_host_fixture.h"

namespace duet {
namespace {

class Experts : public OnHost {
 protected:
  Tensor integers(std::int64_t rows, const std::vector<std::int32_t>& values) {
    const Tensor made = tensor(rows, static_cast<std::int64_t>(values.size()) / rows, DType::int32);
    device_.write(made.span, values.data());
    return made;
  }
  static std::vector<std::int32_t> numbers(const Tensor& tensor) {
    const auto* const first = reinterpret_cast<const std::int32_t*>(tensor.span.data);
    return {first, first + tensor.count()};
  }
  // Three tokens with two choices each, among the experts 0 to 5.
  Tensor choices() { return integers(3, {4, 1, 1, 0, 5, 4}); }
};

TEST_F(Experts, AreThoseOfTheLargestLogits) {
  const Tensor logits = of(2, {1, 3, 2, 3, 0, 0, 0, 0}), routing = tensor(2, 4, DType::int32);
  for (const bool normalised : {true, false}) {
    run(ChooseExperts{logits, normalised, routing});
    synchronize();
    const std::vector<std::int32_t> all = numbers(routing);
    EXPECT_EQ(std::vector<std::int32_t>(all.begin(), all.begin() + 2),
              (std::vector<std::int32_t>{1, 3}));  // equal: the lower one first
    EXPECT_EQ(std::vector<std::int32_t>(all.begin() + 4, all.begin() + 6),
              (std::vector<std::int32_t>{0, 1}));
    const float others = normalised ? 0 : std::exp(-1.0f) + std::exp(-2.0f);
    EXPECT_FLOAT_EQ(data(routing)[2], 1 / (2 + others));
    EXPECT_FLOAT_EQ(data(routing)[6], normalised ? 0.5f : 0.25f);
  }
}

TEST_F(Experts, EntriesAreSortedByExpertAndThenByToken) {
  const Tensor tokens = tensor(1, 6, DType::int32), sorted = tensor(1, 6, DType::int32),
               places = tensor(3, 2, DType::int32);
  const Tensor offsets = tensor(1, 7, DType::int32);
  run(GroupRows{choices(), 2, 0, 6, 1, false, tokens, sorted, places, offsets});
  synchronize();
  EXPECT_EQ(numbers(offsets), (std::vector<std::int32_t>{0, 1, 3, 3, 3, 5, 6}));
  EXPECT_EQ(numbers(sorted), (std::vector<std::int32_t>{0, 1, 1, 4, 4, 5}));
  EXPECT_EQ(numbers(tokens), (std::vector<std::int32_t>{1, 0, 1, 0, 2, 2}));
  EXPECT_EQ(numbers(places), (std::vector<std::int32_t>{3, 1, 2, 0, 5, 4}));
}

TEST_F(Experts, ATokenIsOnceInAGroup) {
  const Tensor tokens = tensor(1, 4, DType::int32), places = tensor(3, 3, DType::int32);
  run(GroupRows{choices(), 2, 0, 3, 2, true, tokens, {}, places});
  synchronize();
  EXPECT_EQ(numbers(tokens), (std::vector<std::int32_t>{0, 1, 0, 2}));
  EXPECT_EQ(numbers(places), (std::vector<std::int32_t>{0, -1, 2, 1, -1, -1, -1, -1, 3}));
}

TEST_F(Experts, ChoicesOutsideOfTheGroupsAreLeftOut) {
  const Tensor tokens = integers(1, {-7, -7, -7}), places = tensor(3, 2, DType::int32);
  run(GroupRows{choices(), 2, 4, 1, 1, false, tokens, {}, places});
  synchronize();
  EXPECT_EQ(numbers(tokens), (std::vector<std::int32_t>{0, 2, -7}));
  EXPECT_EQ(numbers(places), (std::vector<std::int32_t>{0, -1, -1, -1, -1, 1}));
}

TEST_F(Experts, EntriesWithoutRoomAreLeftOut) {
  const Tensor tokens = tensor(1, 2, DType::int32), places = tensor(3, 2, DType::int32),
               offsets = tensor(1, 3, DType::int32);
  run(GroupRows{choices(), 2, 4, 2, 1, false, tokens, {}, places, offsets});
  synchronize();
  EXPECT_EQ(numbers(tokens), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(numbers(places), (std::vector<std::int32_t>{0, -1, -1, -1, -1, 1}));
  EXPECT_EQ(numbers(offsets), (std::vector<std::int32_t>{0, 2, 2}));
}

TEST_F(Experts, AsManyRowsAreGatheredAsTheCountSays) {
  const Tensor x = of(3, {1, 2, 3, 4, 5, 6}), y = of(3, {9, 9, 9, 9, 9, 9});
  run(GatherRows{x, integers(1, {2, 0, -7}), y, integers(1, {2})});
  synchronize();
  EXPECT_EQ(values(y), (std::vector<float>{5, 6, 1, 2, 9, 9}));
}

TEST_F(Experts, RowsComeBackWithTheirWeights) {
  const Tensor x = of(3, {1, 2, 3, 4, 5, 6}), rows = tensor(4, 2), y = tensor(2, 2);
  run(GatherRows{x, integers(1, {2, 0, 0, 1}), rows});
  Tensor routing = of(2, {0, 0, 0.5f, 2, 0, 0, 1, 0.25f});
  routing.dtype = DType::int32;
  run(CombineRows{rows, integers(2, {0, 3, -1, 1}), routing, y});
  synchronize();
  EXPECT_EQ(values(rows), (std::vector<float>{5, 6, 1, 2, 1, 2, 3, 4}));
  EXPECT_EQ(values(y), (std::vector<float>{8.5f, 11, 0.25f, 0.5f}));
}

// Of each expert the first token alone.
TEST_F(Experts, ChoicesBeyondTheCapacityAreTakenBack) {
  Tensor routing = of(3, {0, 0, 0.5f, 0.5f, 0, 0, 0.5f, 0.5f, 0, 0, 0.5f, 0.5f});
  routing.dtype = DType::int32;
  const std::vector<std::int32_t> chosen{4, 1, 1, 0, 5, 4};
  for (std::size_t i = 0; i < chosen.size(); ++i)
    reinterpret_cast<std::int32_t*>(routing.span.data)[4 * (i / 2) + i % 2] = chosen[i];
  const Tensor tokens = tensor(1, 6, DType::int32), places = tensor(3, 2, DType::int32),
               offsets = tensor(1, 7, DType::int32);
  run(GroupRows{routing, 2, 0, 6, 1, false, tokens, {}, places, offsets});
  run(LimitChoices{routing, places, offsets, 1});
  synchronize();
  const std::vector<std::int32_t> left = numbers(routing);
  for (const auto& [at, expert] : std::vector<std::pair<std::size_t, std::int32_t>>{
           {0, 4}, {1, 1}, {4, -1}, {5, 0}, {8, 5}, {9, -1}})
    EXPECT_EQ(left[at], expert) << at;
  EXPECT_EQ(data(routing)[6], 0.5f);
}

TEST_F(Experts, GradientsOfRowsThatCameBack) {
  const Tensor x = of(3, {1, 2, 3, 4, 5, 6}), dy = of(2, {1, 10, 2, 3});
  const Tensor dx = tensor(3, 2), dweights = tensor(2, 3);
  Tensor routing = of(2, {0, 0, 0.5f, 2, 0, 0, 1, 0.25f});
  routing.dtype = DType::int32;
  run(CombineRowsBackward{x, integers(2, {0, 2, -1, 1}), routing, dy, dx, dweights});
  synchronize();
  EXPECT_EQ(values(dx), (std::vector<float>{0.5f, 5, 0.5f, 0.75f, 2, 20}));
  EXPECT_EQ(values(dweights), (std::vector<float>{21, 65, 0, 0, 18, 0}));
}

// 448 times a power of two is the largest value of its scale, and of smaller ones three bits stay.
TEST_F(Experts, RowsTravelInFp8WithScalesOf128Elements) {
  std::vector<float> in(2 * 256);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = i % 128 == 5 ? 448.0f * std::ldexp(1.0f, static_cast<int>(i / 128)) : 0.0f;
  in[6] = 17.4f;        // between 16 and 18
  in[256 + 6] = -1.1f;  // times 1/4, between 0.25 and 0.28125
  const Tensor x = of(2, in), bytes = tensor(2, bytes_of_fp8_row(256), DType::int8),
               y = tensor(3, 256);
  run(QuantiseRows{x, bytes});
  run(GatherFp8Rows{bytes, integers(1, {1, 0, 1}), y});
  synchronize();
  std::vector<float> first(in.begin(), in.begin() + 256), second(in.begin() + 256, in.end());
  first[6] = 18;
  second[6] = -1.125f;
  std::vector<float> wanted = second;
  wanted.insert(wanted.end(), first.begin(), first.end());
  wanted.insert(wanted.end(), second.begin(), second.end());
  EXPECT_EQ(values(y), wanted);
}

TEST_F(Experts, AnIndexOutsideOfTheRowsIsRefused) {
  const Tensor x = normal(3, 2, 1), rows = tensor(2, 2);
  EXPECT_EQ(message_of<BadArgument>([&] {
              run(GatherRows{x, integers(1, {0, 3}), rows});
              synchronize();
            }),
            "rows must be in [0, 3), but row 1 of the index is 3");
}

// Three groups of 2, 0 and 1 rows of four, beside the products of one group each.
TEST_F(Experts, GroupsAreMultipliedByTheirMatrices) {
  constexpr std::int64_t kIn = 70, kOut = 130;
  const GroupedRows rows{integers(1, {0, 2, 2, 3}), 0};
  const Tensor x = normal(4, kIn, 1), w = normal(3 * kOut, kIn, 2), y = normal(4, kOut, 3),
               dy = normal(4, kOut, 4), dx = normal(4, kIn, 5), dw = normal(3 * kOut, kIn, 6);
  const std::vector<float> y_before = values(y), dx_before = values(dx), dw_before = values(dw);
  run(GroupedLinear{rows, x, w, y});
  run(GroupedLinearBackwardInput{rows, dy, w, dx});
  run(GroupedLinearBackwardWeight{rows, dy, x, dw, Accumulate::yes});
  synchronize();
  for (const auto& [group, own] : {std::pair(0, RowRange{0, 2}), {2, RowRange{2, 3}}}) {
    for (std::int64_t r = own.first; r < own.last; ++r) {
      for (std::int64_t c = 0; c < kOut; ++c) {
        double sum = 0;
        for (std::int64_t k = 0; k < kIn; ++k) sum += at(x, r, k) * at(w, group * kOut + c, k);
        ASSERT_NEAR(at(y, r, c), sum, 1e-4) << r << " " << c;
      }
      for (std::int64_t k = 0; k < kIn; ++k) {
        double sum = 0;
        for (std::int64_t c = 0; c < kOut; ++c) sum += at(dy, r, c) * at(w, group * kOut + c, k);
        ASSERT_NEAR(at(dx, r, k), sum, 1e-4) << r << " " << k;
      }
    }
    for (std::int64_t c = 0; c < kOut; ++c) {
      for (std::int64_t k = 0; k < kIn; ++k) {
        const std::int64_t row = group * kOut + c;
        double sum = static_cast<double>(dw_before[static_cast<std::size_t>(row * kIn + k)]);
        for (std::int64_t r = own.first; r < own.last; ++r) sum += at(dy, r, c) * at(x, r, k);
        ASSERT_NEAR(at(dw, row, k), sum, 1e-4) << row << " " << k;
      }
    }
  }
  for (std::int64_t c = 0; c < kOut; ++c)  // behind the last group
    EXPECT_EQ(element(y, 3 * kOut + c), y_before[static_cast<std::size_t>(3 * kOut + c)]);
  EXPECT_EQ(element(dx, 3 * kIn), dx_before[3 * kIn]);
  EXPECT_EQ(element(dw, kOut * kIn), dw_before[kOut * kIn]);  // of the group without rows
  run(GroupedLinearBackwardWeight{rows, dy, x, dw, Accumulate::no});
  synchronize();
  EXPECT_EQ(element(dw, kOut * kIn), 0);
  EXPECT_NEAR(at(dw, 2 * kOut, 1), at(dy, 2, 0) * at(x, 2, 1), 1e-5);
}

TEST_F(Experts, GatesAreOfTheRowsThatAreThere) {
  const GroupedRows rows{integers(1, {0, 1, 2}), 0};
  const Tensor gate_up = of(3, {1, 2, 0, 4, 1, 2}), y = of(3, {9, 9, 9});
  run(SwiGlu{gate_up, y, rows});
  synchronize();
  EXPECT_NEAR(at(y, 0, 0), 2 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(values(y)[1], 0);
  EXPECT_EQ(values(y)[2], 9);
  run(SwiGluBackward{gate_up, of(3, {1, 1, 1}), gate_up, rows});
  synchronize();
  EXPECT_NEAR(at(gate_up, 1, 0), 2, 1e-6);
  EXPECT_EQ(at(gate_up, 2, 1), 2);
}

// Beside differences of the weights.
TEST_F(Experts, GradientsOfWeightsAreThoseOfChosenLogits) {
  const Tensor logits = of(1, {1, 3, 2, 2.5f}), routing = tensor(1, 4, DType::int32),
               dweights = of(1, {2, -1}), dlogits = tensor(1, 4);
  const auto loss = [&] {
    run(ChooseExperts{logits, true, routing});
    synchronize();
    const auto* const weights = data(routing) + 2;
    return 2 * static_cast<double>(weights[0]) - static_cast<double>(weights[1]);
  };
  loss();
  run(ChooseExpertsBackward{routing, dweights, dlogits});
  synchronize();
  for (std::int64_t e = 0; e < 4; ++e) {
    const float before = data(logits)[e];
    data(logits)[e] = before + 0.01f;
    const double above = loss();
    data(logits)[e] = before - 0.01f;
    const double below = loss();
    data(logits)[e] = before;
    EXPECT_NEAR(at(dlogits, 0, e), (above - below) / 0.02, 1e-4) << e;
  }
}

}  // namespace
}  // namespace duet
