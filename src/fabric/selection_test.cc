#include "fabric/selection.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

std::vector<RailInfo> some() {
  return {{"lo", "127.0.0.1", 0, -1},
          {"far", "10.0.0.1", 100, 1},
          {"near", "10.0.1.1", 100, 0},
          {"any", "10.0.2.1", 100, -1}};
}

std::string chosen(const std::string& wanted, int node = 0) {
  std::string names;
  for (const RailInfo& rail : select_rails(some(), wanted, node)) names += rail.name + " ";
  return names;
}

TEST(Selection, TheNearestComeFirst) {
  EXPECT_EQ(chosen(""), "near ");
  EXPECT_EQ(chosen("", 1), "far ");
  EXPECT_EQ(chosen("", -1), "far ");
  EXPECT_EQ(chosen("2"), "near any ");
  EXPECT_EQ(chosen("all"), "near any far ");
}

TEST(Selection, OnOneNodeTheShorterWayCounts) {
  std::vector<RailInfo> rails = some();
  for (RailInfo& rail : rails) rail.numa_node = 0;
  rails[1].pci_hops = 5;
  rails[3].pci_hops = 2;
  std::string names;
  for (const RailInfo& rail : select_rails(rails, "all", 0)) names += rail.name + " ";
  EXPECT_EQ(names, "any far near ");
}

TEST(Selection, NamesAndAddressesKeepTheirOrder) {
  EXPECT_EQ(chosen("far, 10.0.1.1,lo"), "far near lo ");
}

TEST(Selection, TheLoopbackIsTakenWhereThereIsNothingElse) {
  EXPECT_EQ(select_rails({{"lo", "127.0.0.1", 0, -1}}, "", 0).size(), 1u);
  EXPECT_EQ(select_rails({{"lo", "127.0.0.1", 0, -1}}, "all", 0).size(), 1u);
}

TEST(Selection, WhatIsNotThereIsRefused) {
  for (const char* wanted : {"eth9", "0", "5", "near,near", "near,10.0.1.1", "near,", "-1"}) {
    EXPECT_THROW(chosen(wanted), UsageError) << wanted;
  }
}

TEST(ShareRails, AsManyForEachAndDisjoint) {
  std::vector<RailInfo> rails(5);
  for (std::size_t i = 0; i < rails.size(); ++i)
    rails[i].name = std::string(1, static_cast<char>('a' + i));
  const auto names = [&](int local, int locals) {
    std::string text;
    for (const RailInfo& rail : share_rails(rails, local, locals)) text += rail.name;
    return text;
  };
  EXPECT_EQ(names(0, 1), "abcde");
  EXPECT_EQ(names(0, 2), "ab");
  EXPECT_EQ(names(1, 2), "cd");
  EXPECT_EQ(names(4, 5), "e");
  EXPECT_EQ(names(6, 8), "b");  // in turns
  EXPECT_THROW(share_rails({}, 0, 1), BadArgument);
  EXPECT_THROW(share_rails(rails, 2, 2), BadArgument);
}

}  // namespace
}  // namespace duet
