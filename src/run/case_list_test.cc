#include "run/case_list.h"

#include <gtest/gtest.h>

#include <sstream>

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
            "3 cases, up to about 30 s to warm up and measure; preparation comes on top\n");
}

TEST(CaseList, SimulatedCasesTakeNoTime) {
  Job job = job_of({sustained_mode()});
  job.benchmark.cases.front().id.device = "sim:h200";
  EXPECT_EQ(listed({job}), "fake on sim:h200, none, 1 KiB\n1 case\n");
}

TEST(CaseList, DoesNotGuessATimeThatNoModeSays) {
  EXPECT_EQ(listed({job_of({loop_mode()})}), "fake on host, none, 1 KiB\n1 case\n");
  const std::string some = listed({job_of({sustained_mode(), std::nullopt})});
  EXPECT_NE(some.find("2 cases, up to about 11 s to warm up and measure 1 of them"),
            std::string::npos)
      << some;
}

}  // namespace
}  // namespace duet
