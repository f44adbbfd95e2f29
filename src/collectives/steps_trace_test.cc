// The steps of a call on a timeline: on which stream of which rank, when, and what they are.
#include "collectives/steps_trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/cases.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

std::vector<PlannedCase> planned(const char* device, CollectiveKind kind, const char* engine) {
  const auto machine = open_machine(device);
  CollectiveOptions options;
  options.kinds = {kind};
  options.engines = {engine};
  options.sizes = {4 << 20};
  options.in_place = {false};
  std::vector<PlannedCase> all;
  plan_collectives(
      *machine, options, [&](const PlannedCase& one) { all.push_back(one); }, true);
  return all;
}

TEST(StepsTrace, HasEveryStepOfEachRankWithItsTime) {
  for (const char* device : {"host:3", "sim:h200:devices=3"}) {
    const auto cases = planned(device, CollectiveKind::all_gather, "dma");
    ASSERT_EQ(cases.size(), 1u);
    ASSERT_EQ(cases[0].steps.size(), 3u) << device;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      int pushes = 0;
      for (const CallTimeline::Step& step : cases[0].steps[rank]) {
        EXPECT_GE(step.begin, 0) << device;
        EXPECT_GE(step.end, step.begin) << device;
        pushes += contains(step.what, " to rank ");
      }
      EXPECT_EQ(pushes, 2) << device;  // to each other rank
    }
  }
}

// A stream's steps do not overlap, and virtual time tells how long a copy over a link takes.
TEST(StepsTrace, IsALaneForEachStreamOfARank) {
  const auto cases = planned("sim:h200:devices=3", CollectiveKind::all_gather, "dma");
  const Record record = steps_record("sim", "dma", cases[0].axes, cases[0].steps);
  const Trace trace = trace_of_steps(record);
  ASSERT_FALSE(trace.lanes.empty());
  EXPECT_EQ(trace.lanes.front().name, "rank 0: stream 0");
  std::size_t spans = 0;
  double longest = 0;
  for (const TraceLane& lane : trace.lanes) {
    double end = 0;
    for (const TraceSpan& span : lane.spans) {
      EXPECT_GE(span.begin, end) << lane.name;
      end = span.end;
      longest = std::max(longest, end - span.begin);
    }
    spans += lane.spans.size();
  }
  std::size_t steps = 0;
  for (const auto& of_rank : cases[0].steps) steps += of_rank.size();
  EXPECT_EQ(spans, steps);
  EXPECT_GT(longest, 1e-6);
}

}  // namespace
}  // namespace duet
