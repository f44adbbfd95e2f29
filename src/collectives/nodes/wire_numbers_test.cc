#include "collectives/nodes/wire_numbers.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

std::optional<std::uint32_t> chosen(const std::vector<WireNumbers>& of_ranks, std::uint32_t count) {
  std::vector<std::string> texts;
  for (const WireNumbers& each : of_ranks) texts.push_back(each.text());
  return choose_wire_number(texts, count);
}

TEST(WireNumbers, ANumberIsFreeWhereNoRankHasAWireWithIt) {
  EXPECT_EQ(chosen({{0, {}}, {0, {}}}, 4), 0u);
  EXPECT_EQ(chosen({{1, {0}}, {1, {0}}}, 4), 1u);
  EXPECT_EQ(chosen({{1, {1}}, {1, {2}}}, 4), 3u);  // of which one rank has ended its wire
}

TEST(WireNumbers, AreGivenInRotation) {
  EXPECT_EQ(chosen({{3, {}}, {3, {}}}, 4), 3u);
  EXPECT_EQ(chosen({{4, {0}}, {4, {0}}}, 4), 1u);
  EXPECT_EQ(chosen({{2, {2, 3}}, {2, {0}}}, 4), 1u);
}

TEST(WireNumbers, MayAllBeInUse) { EXPECT_EQ(chosen({{0, {0, 1}}, {0, {2, 3}}}, 4), std::nullopt); }

}  // namespace
}  // namespace duet
