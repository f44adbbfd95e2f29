#include <gtest/gtest.h>

#include <cmath>

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

TEST_F(Experts, AnIndexOutsideOfTheRowsIsRefused) {
  const Tensor x = normal(3, 2, 1), rows = tensor(2, 2);
  EXPECT_EQ(message_of<BadArgument>([&] {
              run(GatherRows{x, integers(1, {0, 3}), rows});
              synchronize();
            }),
            "rows must be in [0, 3), but row 1 of the index is 3");
}

}  // namespace
}  // namespace duet
