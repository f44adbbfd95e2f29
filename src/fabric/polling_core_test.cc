#include "fabric/polling_core.h"

#include <gtest/gtest.h>

#include <set>

#include "core/thread.h"

namespace duet {
namespace {

std::vector<std::optional<int>> choices(const std::vector<UsableCores>& all) {
  std::vector<std::optional<int>> chosen;
  for (std::size_t i = 0; i < all.size(); ++i) chosen.push_back(choose_core(all, i));
  return chosen;
}

TEST(CoreChoice, GivesEachProcessOfAMachineItsOwn) {
  using Chosen = std::vector<std::optional<int>>;
  EXPECT_EQ(choices({{"a", {0, 1}}, {"a", {0, 1}}}), (Chosen{0, 1}));
  EXPECT_EQ(choices({{"a", {4, 0, 1}}, {"b", {4, 5}}, {"a", {4, 0, 1}}}), (Chosen{4, 4, 0}));
}

TEST(CoreChoice, KeepsToWhatALauncherBoundProcessesTo) {
  EXPECT_EQ(choose_core({{"a", {3}}, {"a", {0, 1, 2, 3}}, {"a", {2, 3}}}, 2), 2);
}

TEST(CoreChoice, LeavesProcessesAloneThatOutnumberTheCoresOfTheirMachine) {
  const std::vector<UsableCores> all = {
      {"a", {0, 1}}, {"b", {0, 1}}, {"a", {0, 1}}, {"a", {0, 1}}, {"none", {}}};
  EXPECT_EQ(choices(all), (std::vector<std::optional<int>>{{}, 0, {}, {}, {}}));
}

TEST(CoreChoice, IsOfWhatThisThreadMayRunOn) {
  const UsableCores usable = usable_cores(-1);
  EXPECT_FALSE(usable.machine.empty());
  EXPECT_FALSE(usable.cores.empty());
  const std::set<int> different(usable.cores.begin(), usable.cores.end());
  EXPECT_EQ(different.size(), usable.cores.size());
  const UsableCores parsed = UsableCores::parse(usable.text());
  EXPECT_EQ(parsed.machine, usable.machine);
  EXPECT_EQ(parsed.cores, usable.cores);
}

TEST(CoreChoice, BeginsWithTheCoreThatAThreadIsOn) {
  EXPECT_EQ(beginning_with(4, {0, 1, 4, 5}), (std::vector<int>{4, 5, 0, 1}));
  EXPECT_EQ(beginning_with(-1, {0, 1}), (std::vector<int>{0, 1}));
}

TEST(PollingCore, BindsItsThreadUntilItIsReleased) {
  const std::vector<int> before = allowed_cores();
  {
    PollingCore core(before.back());
    core.hold();
    EXPECT_EQ(allowed_cores(), std::vector<int>{before.back()});
    core.hold();
    core.release();
    EXPECT_EQ(allowed_cores(), before);
    core.hold();
  }
  EXPECT_EQ(allowed_cores(), before);
  PollingCore none(std::nullopt);
  none.hold();
  EXPECT_EQ(allowed_cores(), before);
}

}  // namespace
}  // namespace duet
