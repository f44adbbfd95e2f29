#include "soak/watch.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

// A device of which only the driver's reports matter.
class Watched : public Device, public HealthSource {
 public:
  Watched() { info_.name = "gpu:0"; }
  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Stream> make_stream(const StreamOptions&) override { return nullptr; }
  std::unique_ptr<Event> make_event(EventUse) override { return nullptr; }
  std::unique_ptr<PreparedKernel> prepare(const CollectiveKernel&) override { return nullptr; }
  void read(const Span&, void*) override {}
  void write(const Span&, const void*) override {}
  void signal(const Semaphore&, std::uint64_t) override {}
  std::optional<Difference> check(const Span&, const Fill&) override { return std::nullopt; }
  std::optional<Telemetry> telemetry() override { return reading; }
  std::optional<DeviceHealth> health() override { return reported; }
  std::vector<std::uint64_t> new_xids() override { return std::exchange(xids, {}); }

  DeviceHealth reported;
  Telemetry reading;
  std::vector<std::uint64_t> xids;

 private:
  Span acquire(std::uint64_t, MemoryKind) override { return {}; }
  void release(const Span&) noexcept override {}
  DeviceInfo info_;
};

class WatchedMachine : public Machine {
 public:
  const std::string& name() const override { return name_; }
  int size() const override { return 1; }
  Device& device(int) override { return own; }
  Link link(int, int) const override { return {}; }
  double now() override { return time; }
  RankScheduler& scheduler() override { throw Unavailable("no ranks"); }

  Watched own;
  double time = 1;

 private:
  std::string name_ = "gpu";
};

class SoakWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    machine_.own.reported.pcie_replays = 40;
    machine_.own.reported.corrected_errors = 3;
    machine_.own.xids = {13};  // from before the run
  }
  WatchedMachine machine_;
  Injections none_;
};

TEST_F(SoakWatchTest, TellsOnceWhatHasGrownSinceTheBegin) {
  SoakWatch watch(machine_, {}, none_);
  EXPECT_TRUE(watch.end_round(1).empty());
  machine_.own.reported.pcie_replays = 42;
  const std::vector<SoakFinding> found = watch.end_round(2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_of(found[0]), "counter at gpu:0: 2 PCIe replays more");
  EXPECT_TRUE(watch.end_round(3).empty());
  EXPECT_EQ(watch.devices()[0].grown.at("pcie_replays"), 2u);
  EXPECT_EQ(watch.devices()[0].grown.count("link_errors"), 0u);  // which the driver does not tell
  machine_.own.reported.pcie_replays = 43;
  EXPECT_EQ(watch.end_round(4).size(), 1u);
}

TEST_F(SoakWatchTest, AllowedGrowthIsNoFinding) {
  SoakWatch watch(machine_, parse_soak_allowances("corrected_errors=2"), none_);
  machine_.own.reported.corrected_errors = 5;
  EXPECT_TRUE(watch.end_round(1).empty());
  machine_.own.reported.corrected_errors = 6;
  EXPECT_EQ(watch.end_round(2).size(), 1u);
}

TEST_F(SoakWatchTest, TellsXidsOfTheRun) {
  SoakWatch watch(machine_, {}, none_);
  machine_.own.xids = {63, 79};
  const std::vector<SoakFinding> found = watch.end_round(1);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(text_of(found[1]), "xid at gpu:0: the driver reported XID 79");
  EXPECT_TRUE(watch.end_round(2).empty());
}

TEST_F(SoakWatchTest, ReadsSensorsOnceAPeriod) {
  SoakWatch watch(machine_, {}, none_);
  machine_.own.reading.watts = 300;
  for (const double time : {1.0, 1.5, 2.5, 3.0}) {
    machine_.time = time;
    watch.sample(1);
  }
  watch.end_round(1);
  EXPECT_EQ(watch.devices()[0].readings.size(), 2u);
  EXPECT_EQ(watch.devices()[0].readings[0].watts, 300);
  watch.end_round(2);
  EXPECT_TRUE(watch.devices()[0].readings.empty());
}

TEST(SoakAllowancesTest, AreParsed) {
  const SoakAllowances two = parse_soak_allowances("corrected_errors=10,pcie_replays=2");
  EXPECT_EQ(two.at("corrected_errors"), 10u);
  EXPECT_EQ(two.at("pcie_replays"), 2u);
  EXPECT_TRUE(parse_soak_allowances("").empty());
  for (const char* bad : {"rust=1", "pcie_replays", "pcie_replays=", "pcie_replays=x"}) {
    EXPECT_THROW(parse_soak_allowances(bad), UsageError) << bad;
  }
}

}  // namespace
}  // namespace duet
