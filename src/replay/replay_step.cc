#include "replay/replay_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/units.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

void add_call(RecordedTimes& times, int& timed, double seconds) {
  ++times.calls;
  if (seconds <= 0) return;
  times.seconds += (seconds - times.seconds) / ++timed;
}

std::string key_of(const GemmProblem& problem) {
  return fmt::format("{} {}", name(problem), name(problem.output));
}
std::string key_of(const Collective& c) {
  return fmt::format("{} {} {}", name(c.kind), name(c.dtype), c.count);
}

class StepBuilder {
 public:
  explicit StepBuilder(int ranks) : ranks_(ranks) {}

  void add(const RecordedCall& call) {
    if (const auto* gemm = std::get_if<GemmProblem>(&call.what)) {
      const std::size_t index = place(gemms_, key_of(*gemm));
      if (index == step_.gemms.size()) step_.gemms.push_back({*gemm, {}});
      add_call(step_.gemms[index].recorded, timed_gemms_[index], call.seconds);
      step_.calls.push_back({ReplayCall::Kind::gemm, index});
    } else if (const auto* collective = std::get_if<RecordedCollective>(&call.what)) {
      add_collective(*collective, call.seconds);
    } else if (const auto* wait = std::get_if<RecordedWait>(&call.what)) {
      step_.has_waits = true;
      await(awaited(*wait));
    }
  }

  ReplayStep step() && { return std::move(step_); }

 private:
  static std::size_t place(std::map<std::string, std::size_t>& places, const std::string& key) {
    return places.emplace(key, places.size()).first->second;
  }

  void add_collective(const RecordedCollective& recorded, double seconds) {
    const Collective one = scaled(recorded, ranks_);
    const std::size_t index = place(collectives_, key_of(one));
    if (index == step_.collectives.size()) step_.collectives.push_back({one, recorded.ranks, {}});
    add_call(step_.collectives[index].recorded, timed_collectives_[index], seconds);
    step_.calls.push_back({ReplayCall::Kind::collective, index});
    ++issued_;
    last_of_group_[recorded.group] = issued_;
    if (recorded.number) numbered_[{recorded.group, *recorded.number}] = issued_;
    if (!recorded.blocking) return;
    step_.has_waits = true;
    await(issued_);
  }

  // How many collectives; 0: none of this step.
  std::size_t awaited(const RecordedWait& wait) const {
    if (wait.number) {
      const auto own = numbered_.find({wait.group, *wait.number});
      return own == numbered_.end() ? 0 : own->second;
    }
    if (wait.group.empty()) return issued_;
    const auto last = last_of_group_.find(wait.group);
    return last == last_of_group_.end() ? 0 : last->second;
  }

  void await(std::size_t collectives) {
    if (collectives <= awaited_) return;
    awaited_ = collectives;
    step_.calls.push_back({ReplayCall::Kind::wait, collectives});
  }

  const int ranks_;
  ReplayStep step_;
  std::map<std::string, std::size_t> gemms_, collectives_;  // places, by what is called
  std::map<std::size_t, int> timed_gemms_, timed_collectives_;
  std::size_t issued_ = 0, awaited_ = 0;  // collectives
  std::map<std::string, std::size_t> last_of_group_;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> numbered_;
};

std::uint64_t recorded_bytes(const RecordedCollective& one) {
  return std::max(one.sent, one.received);
}

std::string times_text(const RecordedTimes& times) {
  return times.seconds > 0 ? format_seconds(times.seconds) : "-";
}

// Collectives as recorded: of each group size its own.
struct FoundCollective {
  RecordedCollective call;
  RecordedTimes times;
  int timed = 0;
};

std::string found_gemms(const ReplayStep& step) {
  if (step.gemms.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const ReplayGemm& each : step.gemms) {
    rows.push_back({name(each.problem), std::to_string(each.recorded.calls),
                    format_rate(flop(each.problem) * 1e-9), times_text(each.recorded)});
  }
  return table(
      {{"GEMM"}, {"calls", Align::right}, {"GFLOP each", Align::right}, {"recorded", Align::right}},
      rows, "  ");
}

std::string found_collectives(const RecordedTrace& trace) {
  std::vector<FoundCollective> found;
  std::map<std::string, std::size_t> places;
  for (const RecordedCall& call : trace.calls) {
    const auto* one = std::get_if<RecordedCollective>(&call.what);
    if (one == nullptr) continue;
    const std::string key = fmt::format("{} {} {} {}", name(one->kind), name(one->dtype),
                                        recorded_bytes(*one), one->ranks);
    const std::size_t index = places.emplace(key, places.size()).first->second;
    if (index == found.size()) found.push_back({*one, {}});
    add_call(found[index].times, found[index].timed, call.seconds);
  }
  if (found.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const FoundCollective& each : found) {
    const RecordedCollective& call = each.call;
    rows.push_back({fmt::format("{} {}", name(call.kind), name(call.dtype)),
                    std::to_string(each.times.calls), format_bytes(recorded_bytes(call)),
                    call.ranks > 0 ? std::to_string(call.ranks) : "?", times_text(each.times)});
  }
  return table({{"collective"},
                {"calls", Align::right},
                {"bytes each", Align::right},
                {"ranks", Align::right},
                {"recorded", Align::right}},
               rows, "  ");
}

}  // namespace

int ReplayStep::gemm_calls() const {
  int all = 0;
  for (const ReplayGemm& each : gemms) all += each.recorded.calls;
  return all;
}

int ReplayStep::collective_calls() const {
  int all = 0;
  for (const ReplayCollective& each : collectives) all += each.recorded.calls;
  return all;
}

Collective scaled(const RecordedCollective& recorded, int ranks) {
  std::uint64_t bytes = recorded_bytes(recorded);
  // The trace tells what each rank sends, and not what all have sent.
  const bool gathers =
      recorded.kind == CollectiveKind::all_gather || recorded.kind == CollectiveKind::gather;
  if (gathers && recorded.received == 0)
    bytes = recorded.sent * static_cast<std::uint64_t>(recorded.ranks > 0 ? recorded.ranks : ranks);
  Collective one;
  one.kind = recorded.kind;
  one.dtype = recorded.dtype;
  one.count = std::max<std::uint64_t>(1, count_for(one.kind, one.dtype, bytes, ranks));
  return one;
}

ReplayStep replay_step(const RecordedTrace& trace, int ranks) {
  StepBuilder builder(ranks);
  for (const RecordedCall& call : trace.calls) builder.add(call);
  ReplayStep step = std::move(builder).step();
  step.seconds = trace.seconds;
  return step;
}

std::map<std::string, LeftOut> left_out_of(const RecordedTrace& trace) {
  std::map<std::string, LeftOut> all;
  for (const RecordedCall& call : trace.calls) {
    const auto* rest = std::get_if<RecordedRest>(&call.what);
    if (rest == nullptr) continue;
    LeftOut& same = all[rest->reason];
    ++same.calls;
    same.seconds += call.seconds;
  }
  return all;
}

std::string found_text(const std::string& file, const RecordedTrace& trace) {
  const ReplayStep step = replay_step(trace, 2);
  double flops = 0;
  for (const ReplayGemm& each : step.gemms) flops += each.recorded.calls * flop(each.problem);
  double bytes = 0;
  for (const RecordedCall& call : trace.calls) {
    if (const auto* one = std::get_if<RecordedCollective>(&call.what))
      bytes += static_cast<double>(recorded_bytes(*one));
  }
  std::string text = fmt::format("{} ({}", file, trace.form);
  if (trace.steps.size() == 1) text += fmt::format(", step {}", trace.steps.front().number);
  if (trace.seconds > 0) text += fmt::format(", {}", format_seconds(trace.seconds));
  text +=
      fmt::format("): {} GEMMs of {} GFLOP, {} collectives of {} GB\n", step.gemm_calls(),
                  format_rate(flops * 1e-9), step.collective_calls(), format_rate(bytes * 1e-9));
  text += found_gemms(step) + found_collectives(trace);
  for (const auto& [reason, count] : left_out_of(trace)) {
    text += fmt::format("  left out: {} x {}", count.calls, reason);
    text += count.seconds > 0 ? fmt::format(" ({})\n", format_seconds(count.seconds)) : "\n";
  }
  for (const std::string& remark : trace.remarks) text += fmt::format("  {}\n", remark);
  text += step.has_waits ? "  waits for collectives: those of the trace\n"
                         : "  waits for collectives: none in the trace; at the end of the step\n";
  return text;
}

}  // namespace duet
