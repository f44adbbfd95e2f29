#include "collectives/steps_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace duet {
namespace {

constexpr char kBeforeStep = '|';  // in a curve's name, between lane and step

}  // namespace

Record steps_record(const std::string& device, const std::string& engine, const Axes& axes,
                    const std::vector<std::vector<CallTimeline::Step>>& steps) {
  Record record;
  record.id = {kStepsBenchmark, device, engine, axes};
  record.outcome = Outcome::derived;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    std::vector<CallTimeline::Step> by_lane = steps[rank];
    std::stable_sort(by_lane.begin(), by_lane.end(),
                     [](const auto& one, const auto& other) { return one.lane < other.lane; });
    for (const CallTimeline::Step& step : by_lane) {
      const std::string curve =
          fmt::format("rank {}: stream {}{}{}", rank, step.lane, kBeforeStep, step.what);
      std::vector<double> ends = record.curves.value(curve);
      ends.insert(ends.end(), {step.begin, step.end});
      record.curves.set(curve, std::move(ends));
    }
  }
  return record;
}

Trace trace_of_steps(const Record& record) {
  Trace trace;
  for (const auto& [name, ends] : record.curves) {
    const std::size_t at = name.find(kBeforeStep);
    if (at == std::string::npos) continue;
    const std::string lane = name.substr(0, at);
    if (trace.lanes.empty() || trace.lanes.back().name != lane) trace.lanes.push_back({lane, {}});
    std::vector<TraceSpan>& spans = trace.lanes.back().spans;
    for (TraceSpan& span : spans_of(name.substr(at + 1), ends)) spans.push_back(std::move(span));
  }
  // A step that takes no time begins and ends where the next one begins.
  const auto earlier = [](const TraceSpan& one, const TraceSpan& other) {
    return std::pair(one.begin, one.end) < std::pair(other.begin, other.end);
  };
  for (TraceLane& lane : trace.lanes) std::sort(lane.spans.begin(), lane.spans.end(), earlier);
  return trace;
}

}  // namespace duet
