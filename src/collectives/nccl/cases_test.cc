// The cases of `duet collective` by the engines "nccl" and "nccl-duet".
#include "collectives/cases.h"

#include <gtest/gtest.h>

#include "collectives/engine.h"
#include "collectives/tuning/changeover.h"
#include "core/error.h"

namespace duet {
namespace {

class Named : public CollectiveEngine {
 public:
  explicit Named(const std::string& name) : name_(name) {}
  std::string name() const override { return name_; }
  std::string device_kind() const override { return "host"; }
  std::unique_ptr<CollectiveSession> open(Team&) override { throw Unavailable("a name only"); }

 private:
  std::string name_;
};

TEST(NcclCases, CompareSmallCallsInAModeOfTheirOwn) {
  register_collective_engine(std::make_unique<Named>("nccl"));
  register_collective_engine(std::make_unique<Named>("nccl-duet"));
  const auto machine = open_machine("host:2");
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_gather, CollectiveKind::broadcast};
  options.engines = {"nccl", "nccl-duet", "dma"};
  options.sizes = {4096, 2 << 20};
  options.small_calls_mode = loop_mode();
  int in_a_row = 0;
  for (const Case& each : collective_benchmark(*machine, options, {}).cases) {
    const bool compared = compares_small_calls(each.id);
    EXPECT_EQ(each.mode->kind, compared ? ModeKind::loop : ModeKind::adaptive);
    in_a_row += compared;
  }
  EXPECT_EQ(in_a_row, 8);  // those of 4 KiB, in place and not, by two engines
}

}  // namespace
}  // namespace duet
