#include "replay/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

bool is_rest(const RecordedCall& call) { return std::holds_alternative<RecordedRest>(call.what); }
bool is_wait(const RecordedCall& call) { return std::holds_alternative<RecordedWait>(call.what); }

bool is_replayed(const RecordedCall& call) { return !is_rest(call) && !is_wait(call); }

// The last one with calls that are replayed: a trace may end where another one begins.
std::int64_t last_step(const RecordedTrace& trace) {
  const auto last = std::find_if(trace.calls.rbegin(), trace.calls.rend(), [](const auto& call) {
    return call.step >= 0 && is_replayed(call);
  });
  return last == trace.calls.rend() ? trace.steps.back().number : last->step;
}

RecordedStep step_of(const RecordedTrace& trace, const RecordedPart& part) {
  const std::int64_t wanted = part.step ? *part.step : last_step(trace);
  std::vector<std::int64_t> known;
  for (const RecordedStep& step : trace.steps) {
    if (step.number == wanted) return step;
    known.push_back(step.number);
  }
  throw UsageError(fmt::format("step {}: the trace has {}", wanted, fmt::join(known, ", ")));
}

// Counts only calls that are replayed; what stands between them goes with the one before.
void keep_range(std::vector<RecordedCall>& calls, const RecordedPart& part) {
  std::vector<RecordedCall> kept;
  std::int64_t number = 0;
  for (RecordedCall& call : calls) {
    if (is_replayed(call)) ++number;
    const bool in_range = number >= part.from && (part.to == 0 || number <= part.to);
    if (in_range) kept.push_back(std::move(call));
  }
  if (part.from > number || (part.to > 0 && part.to < part.from)) {
    throw UsageError(fmt::format("calls {} to {}: expected some of 1 to {}", part.from,
                                 part.to > 0 ? part.to : number, number));
  }
  calls = std::move(kept);
}

}  // namespace

RecordedTrace part_of(RecordedTrace trace, const RecordedPart& part) {
  if (part.step && trace.steps.empty())
    throw UsageError(fmt::format("step {}: the trace marks no steps", *part.step));
  if (!trace.steps.empty() && !part.all_steps) {
    const RecordedStep step = step_of(trace, part);
    const auto other = [&](const RecordedCall& call) { return call.step != step.number; };
    trace.calls.erase(std::remove_if(trace.calls.begin(), trace.calls.end(), other),
                      trace.calls.end());
    trace.steps = {step};
    trace.seconds = step.seconds;
  }
  if (std::none_of(trace.calls.begin(), trace.calls.end(), is_replayed))
    throw UsageError(fmt::format("no GEMM and no collective in it ({})", trace.form));
  if (part.from == 1 && part.to == 0) return trace;
  keep_range(trace.calls, part);
  trace.seconds = 0;
  return trace;
}

}  // namespace duet
