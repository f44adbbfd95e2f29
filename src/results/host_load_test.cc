// Shares of the CPU between two readings of /proc/stat.
#include "results/host_load.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

TEST(HostLoad, ReadsTheFirstLineOfProcStat) {
  const auto times = parse_host_times("cpu  100 20 30 400 50 6 4 10 7 0\ncpu0 1 2 3\n", 100);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy, 1.6);
  EXPECT_DOUBLE_EQ(times->steal, 0.1);
  EXPECT_DOUBLE_EQ(times->all, 6.2);
  for (const char* odd : {"", "cpu", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu a b c d e f g h"}) {
    EXPECT_FALSE(parse_host_times(odd, 100)) << odd;
  }
}

TEST(HostLoad, LeavesOutWhatTheProcessItselfUses) {
  const HostTimes begin{100, 50, 1, 10};
  const auto load = load_between(begin, {110, 57, 1.5, 12});
  ASSERT_TRUE(load);
  EXPECT_DOUBLE_EQ(load->others, 0.5);
  EXPECT_DOUBLE_EQ(load->steal, 0.05);
  EXPECT_TRUE(is_high(*load));
  EXPECT_EQ(load_text(*load), "others used 50% of the CPU, 5% was stolen");
  EXPECT_FALSE(host_load(*load).average);
  EXPECT_EQ(host_load(*load).others, 0.5);
  EXPECT_EQ(host_load(*load).steal, 0.05);
  // Own time has a finer resolution than ticks: the difference may be negative, the share may not.
  EXPECT_DOUBLE_EQ(load_between(begin, {110, 52, 1, 12.01})->others, 0);
  EXPECT_FALSE(is_high({0.05, 0.01}));
}

TEST(HostLoad, SaysNothingOfReadingsTooClose) {
  EXPECT_FALSE(load_between({100, 50, 1, 10}, {100.02, 50.01, 1, 10}));
}

TEST(HostLoad, FiguresOfABusyCpuAreInDoubt) {
  const auto record = [](const char* device, double others) {
    Record made;
    made.id.device = device;
    made.load = HostLoad{{}, others, 0.0};
    return made;
  };
  EXPECT_DOUBLE_EQ(busy_with(record("host", 0.57)).value().others, 0.57);
  EXPECT_TRUE(busy_with(record("host:2", 0.57)));
  EXPECT_FALSE(busy_with(record("host", 0.05)));
  EXPECT_FALSE(busy_with(record("cuda", 0.57)));
  Record unknown = record("host", 0.57);
  unknown.load.reset();
  EXPECT_FALSE(busy_with(unknown));
}

}  // namespace
}  // namespace duet
