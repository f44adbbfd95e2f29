#include "fleet/names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

using Names = std::vector<std::string>;

TEST(FleetNames, ListsAreExpanded) {
  EXPECT_EQ(node_names("a"), Names{"a"});
  EXPECT_EQ(node_names("a, b[08-10,3]-ib,c"),
            (Names{"a", "b08-ib", "b09-ib", "b10-ib", "b3-ib", "c"}));
  EXPECT_EQ(node_names("r[1-2]n[1-2]"), (Names{"r1n1", "r1n2", "r2n1", "r2n2"}));
  for (const char* bad : {"", "a,", "a[", "a]", "a[1", "a[[1]]", "a[x]", "a[3-1]", "a[1-]"}) {
    EXPECT_NE(message_of<UsageError>([&] { node_names(bad); }), "") << bad;
  }
  EXPECT_NE(message_of<UsageError>([] { node_names("a[1-9999999]"); }).find("at most"),
            std::string::npos);
}

class FleetNamesFile : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string path = ::testing::TempDir() + "fleet_names.toml";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(FleetNamesFile, NodesAreOfALineEachOrAList) {
  EXPECT_EQ(node_names_of("--nodes", file("# ours\nnode1 # first\n\nnode[2-3]\n")),
            (Names{"node1", "node2", "node3"}));
  EXPECT_EQ(node_names_of("--nodes", "a,b"), (Names{"a", "b"}));
  const std::string message =
      message_of<UsageError>([&] { node_names_of("--nodes", file("#\n")); });
  EXPECT_EQ(message.substr(0, 9), "--nodes: ") << message;
}

TEST_F(FleetNamesFile, GroupsAreListsByName) {
  const auto groups = groups_in(file("leaf1 = [\"n[1-2]\", \"n7\"]\nleaf2 = [\"n3\"]\n"));
  EXPECT_EQ(groups.at("leaf1"), (Names{"n1", "n2", "n7"}));
  EXPECT_EQ(groups.at("leaf2"), Names{"n3"});
  EXPECT_NE(message_of<UsageError>([&] { groups_in(file("a = [\"n1\"]\nb = [\"n1\"]\n")); }), "");
  EXPECT_NE(message_of<UsageError>([&] { groups_in(file("a = 3\n")); }), "");
  EXPECT_NE(message_of<UsageError>([&] { groups_in(file("")); }), "");
  EXPECT_NE(message_of<UsageError>([&] { groups_in("nowhere.toml"); }), "");
}

}  // namespace
}  // namespace duet
