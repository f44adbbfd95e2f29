#include "report/trace_file.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "results/record_json.h"

namespace duet {
namespace {

Record overlap_of_two_ranks() {
  Record record;
  record.id = {"overlap", "cuda", "dma", {{"compute", "mb2"}, {"collective", "all_gather"}}};
  record.timeline = {{{0, 0.003}, {0.001, 0.004}}, {{0.0005, 0.0035}, {0.001, 0.004}}};
  return record;
}

Record layer_on_two_streams() {
  Record record;
  record.id = {"layer", "cuda", "pieces", {{"layer", "gather-gemm"}, {"ranks", std::int64_t{1}}}};
  record.curves.set("gemms_of_rank_0", {0, 0.002, 0.001, 0.003, 0.002, 0.004});
  return record;
}

JournalContents journal_with(const std::vector<Record>& records) {
  JournalContents journal;
  journal.runs = {{{}, records}};
  return journal;
}

Json events_of(const std::vector<Record>& records) {
  const TraceFile file = trace_file({journal_with(records)}, {});
  EXPECT_EQ(file.text.rfind(kTraceHead, 0), 0u);
  return Json::parse(file.text)["traceEvents"];
}

std::vector<Json> of_phase(const Json& events, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

// By process and thread.
std::map<std::pair<int, int>, std::string> thread_names(const Json& events) {
  std::map<std::pair<int, int>, std::string> names;
  for (const Json& event : of_phase(events, "M")) {
    if (event["name"] == "thread_name") names[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  return names;
}

TEST(TraceFile, EachRankHasALaneOfEachWork) {
  const Json events = events_of({overlap_of_two_ranks()});
  std::set<std::string> names;
  for (const auto& [at, name] : thread_names(events)) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"call", "rank 0: communication", "rank 0: compute",
                                          "rank 1: communication", "rank 1: compute"}));
  const std::vector<Json> spans = of_phase(events, "X");
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans[0]["dur"], 4000);  // microseconds
  EXPECT_EQ(spans[0]["args"]["benchmark"], "overlap");
  EXPECT_EQ(spans[2]["name"], "all_gather");
  EXPECT_EQ(spans[2]["ts"], 1000);
  EXPECT_EQ(spans[2]["dur"], 3000);
}

// Viewers take slices of a thread that overlap for calls within calls.
TEST(TraceFile, SpansThatOverlapAreInThreadsOfTheirOwn) {
  const Json events = events_of({layer_on_two_streams()});
  const auto names = thread_names(events);
  std::map<std::pair<int, int>, double> ends;
  std::size_t ranges = 0;
  for (const Json& span : of_phase(events, "X")) {
    const std::pair<int, int> at{span["pid"], span["tid"]};
    EXPECT_GE(span["ts"].get<double>(), ends[at]);
    ends[at] = span["ts"].get<double>() + span["dur"].get<double>();
    ranges += names.at(at) == "rank 0: GEMMs";
  }
  EXPECT_EQ(ranges, 3u);
  EXPECT_EQ(names.size(), 3u);  // the call, and two of the ranges
}

TEST(TraceFile, StepsOfARunFollowEachOtherBesideTheirFigures) {
  Record run;
  run.id = {"train_run", "host", "duet", {{"model", "tiny"}}};
  run.samples = {0.5, 0.25};
  run.metrics.set("first_step", 11);
  run.curves.set("loss", {3.5, 3.25});
  run.curves.set("evaluation_loss", {3.4});
  const Json events = events_of({run});
  const std::vector<Json> spans = of_phase(events, "X"), values = of_phase(events, "C");
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[2]["name"], "step 12");
  EXPECT_EQ(spans[2]["ts"], 500000);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[1]["ts"], 750000);
  EXPECT_EQ(values[1]["args"]["loss"], 3.25);
}

// By the Trace Event Format: which fields an event of each phase must have, and of what type.
void expect_well_formed(const Json& event) {
  const std::string phase = event.at("ph");
  EXPECT_TRUE(event.at("name").is_string()) << event;
  EXPECT_TRUE(event.at("pid").is_number_integer()) << event;
  if (phase == "M") {
    EXPECT_TRUE(event.at("args").is_object() && event.at("args").size() == 1) << event;
    return;
  }
  ASSERT_TRUE(event.at("ts").is_number()) << event;
  EXPECT_GE(event.at("ts").get<double>(), 0);
  if (phase == "C") {
    for (const auto& [name, value] : event.at("args").items())
      EXPECT_TRUE(value.is_number()) << name;
    return;
  }
  ASSERT_EQ(phase, "X") << event;
  EXPECT_TRUE(event.at("tid").is_number_integer()) << event;
  ASSERT_TRUE(event.at("dur").is_number()) << event;
  EXPECT_GE(event.at("dur").get<double>(), 0);
}

TEST(TraceFile, EventsHaveWhatTheFormatDemands) {
  Record run;
  run.id = {"train_run", "host", "duet", {{"model", "tiny"}}};
  run.samples = {0.5};
  run.curves.set("loss", {3.5});
  Record three = overlap_of_two_ranks();
  three.timeline[0].also = WorkSpan{0.001, 0.002};
  Record steps;
  steps.id = {"collective_steps", "sim", "dma", {}};
  steps.curves.set("rank 0: stream 0|signal rank 1", {0, 1e-6});
  steps.curves.set("rank 0: stream 1|copy 1 MiB to rank 1", {1e-6, 3e-6, 3e-6, 5e-6});
  const Json events = events_of({run, three, layer_on_two_streams(), steps});
  for (const Json& event : events) expect_well_formed(event);
  std::set<std::string> lanes;
  for (const auto& [at, name] : thread_names(events)) lanes.insert(name);
  for (const char* lane : {"rank 0: copy", "rank 0: stream 0", "rank 0: stream 1"}) {
    EXPECT_EQ(lanes.count(lane), 1u) << lane;
  }
  EXPECT_EQ(lanes.count("rank 1: copy"), 0u);
}

TEST(TraceFile, HasTheCasesThatTellOfTheirPartsAndHaveTheWords) {
  Record copy;
  copy.id = {"copy", "cuda", "dma", {}};
  Record untold = layer_on_two_streams();
  untold.curves = {};
  const JournalContents journal =
      journal_with({copy, untold, overlap_of_two_ranks(), layer_on_two_streams()});
  EXPECT_EQ(trace_file({journal}, {}).cases, 2);
  EXPECT_EQ(trace_file({journal, journal}, {}).cases, 4);
  EXPECT_EQ(trace_file({journal}, {"layer", "pieces"}).cases, 1);
  EXPECT_EQ(trace_file({journal}, {"layer", "dma"}).cases, 0);
}

}  // namespace
}  // namespace duet
