// Duet's collectives on more ranks than a node has GPUs today.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "collectives/own_engines.h"
#include "collectives/session/calls_fixture.h"
#include "device/sim/platform.h"

namespace duet {
namespace {

// A built-in platform with the given number of devices in its node, which may exceed that of real
// nodes.
class PlatformOf {
 public:
  PlatformOf(const std::string& name, int devices) {
    std::string text = sim::platform_toml(name);
    const std::size_t begin = text.find("\ndevices = ") + 1;
    text.replace(begin, text.find('\n', begin) - begin, "devices = " + std::to_string(devices));
    std::ofstream(path_) << text;
  }
  ~PlatformOf() { std::remove(path_.c_str()); }
  PlatformOf(const PlatformOf&) = delete;
  PlatformOf& operator=(const PlatformOf&) = delete;
  std::string device() const { return "sim:" + path_; }

 private:
  std::string path_ = ::testing::TempDir() + "many_ranks_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
};

std::vector<CollectiveKind> every() {
  return {CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::reduce_scatter,
          CollectiveKind::all_reduce, CollectiveKind::broadcast,  CollectiveKind::gather};
}

void run_every_engine(const std::string& device, int ranks,
                      const std::vector<CollectiveKind>& kinds) {
  const auto machine = open_machine(device);
  Team team(*machine);
  ASSERT_EQ(team.size(), ranks);
  for (const auto make : {make_dma_collectives, make_kernel_collectives, make_auto_collectives}) {
    const auto session = make()->open(team);
    for (const CollectiveKind kind : kinds) {
      run_calls(team, plans_of(*session), collective_of(kind, 192), {2});
    }
  }
}

TEST(ManyRanks, EighteenOnTheHost) { run_every_engine("host:18", 18, every()); }

TEST(ManyRanks, SixtyFourOnTheHost) {
  run_every_engine("host:64", 64, {CollectiveKind::all_gather, CollectiveKind::all_reduce});
}

TEST(ManyRanks, TwentyBehindASwitch) {
  const PlatformOf platform("h200-8", 20);
  run_every_engine(platform.device(), 20, every());
}

TEST(ManyRanks, SixtyFourWithALinkBetweenEveryTwo) {
  const PlatformOf platform("mi300x-8", 64);
  run_every_engine(platform.device(), 64, every());
}

}  // namespace
}  // namespace duet
