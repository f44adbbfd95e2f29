#include <gtest/gtest.h>

#include <sstream>

#include "run/runner.h"

namespace duet {
namespace {

Job job_of(const std::vector<std::optional<Mode>>& modes) {
  Job job;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const CaseId id{"fake", "host", "none", {{"bytes", std::int64_t{1024} << i}}};
    const auto run = []() -> Measurement { throw Error("a case that is only listed ran"); };
    job.benchmark.cases.push_back({id, run, modes[i]});
  }
  return job;
}

std::string listed(const std::vector<Job>& jobs) {
  std::ostringstream out;
  print_cases(jobs, out);
  return out.str();
}

TEST(CaseList, NamesCasesAndTheirTimeAndRunsNone) {
  Mode mode;
  mode.warm_up_seconds = 1;
  mode.seconds = 9;
  EXPECT_EQ(listed({job_of({mode, mode}), job_of({mode})}),
            "fake on host, none, 1 KiB\n"
            "fake on host, none, 2 KiB\n"
            "fake on host, none, 1 KiB\n"
            "3 cases, about 31 s with preparation\n");
}

TEST(CaseList, SimulatedCasesTakeNoTime) {
  Job job = job_of({sustained_mode()});
  job.benchmark.cases.front().id.device = "sim:h200";
  EXPECT_EQ(listed({job}), "fake on sim:h200, none, 1 KiB\n1 case\n");
}

TEST(CaseList, DoesNotGuessATimeThatNoModeSays) {
  EXPECT_EQ(listed({job_of({loop_mode()})}), "fake on host, none, 1 KiB\n1 case\n");
  const std::string some = listed({job_of({sustained_mode(), std::nullopt})});
  EXPECT_NE(some.find("2 cases, about 11 s with preparation for 1 of them"), std::string::npos)
      << some;
}

// A step of 10^15 FLOP: no CPU makes the nine of the mode within its time.
TEST(CaseList, CountsLongCallsOfACpu) {
  const CaseId step{"train",
                    "host",
                    "duet",
                    {{"batch", std::int64_t{64}},
                     {"sequence", std::int64_t{2048}},
                     {"parameters", std::int64_t{1271565755}}}};
  Job job;
  job.benchmark.cases.push_back({step, [] { return Measurement(); }, Mode()});
  EXPECT_NE(listed({job}).find(" h with preparation"), std::string::npos) << listed({job});
  job.benchmark.cases.front().id.device = "cuda:0";
  EXPECT_NE(listed({job}).find("about 1 s with preparation"), std::string::npos) << listed({job});
}

}  // namespace
}  // namespace duet
