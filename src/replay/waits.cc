#include "replay/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace duet {
namespace {

// By call, when the first GEMM behind it began; 0: unknown.
std::vector<double> next_gemms(const RecordedTrace& trace) {
  std::vector<double> begins(trace.calls.size());
  double next = 0;
  for (std::size_t i = begins.size(); i-- > 0;) {
    begins[i] = next;
    const RecordedCall& call = trace.calls[i];
    if (std::holds_alternative<GemmProblem>(call.what) && call.end > 0) next = call.begin;
  }
  return begins;
}

// When the collectives so far ended on the device.
class CollectiveEnds {
 public:
  void add(const RecordedCollective& one, double end) {
    double& last = of_group_[one.group];
    last = std::max(last, end);
    if (one.number) numbered_[{one.group, *one.number}] = end;
  }

  // 0: unknown.
  double awaited(const RecordedWait& wait) const {
    if (!wait.number) {
      const auto last = of_group_.find(wait.group);
      return last == of_group_.end() ? 0 : last->second;
    }
    const auto own = numbered_.find({wait.group, *wait.number});
    return own == numbered_.end() ? 0 : own->second;
  }

 private:
  std::map<std::string, double> of_group_;
  std::map<std::pair<std::string, std::int64_t>, double> numbered_;
};

}  // namespace

void drop_waits_of_other_streams(RecordedTrace& trace) {
  const std::vector<double> begins = next_gemms(trace);
  CollectiveEnds ends;
  std::vector<RecordedCall> kept;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    RecordedCall& call = trace.calls[i];
    const auto contradicts = [&](double end) { return begins[i] > 0 && end > begins[i]; };
    if (auto* const one = std::get_if<RecordedCollective>(&call.what)) {
      ends.add(*one, call.end);
      one->blocking = one->blocking && !contradicts(call.end);
    } else if (const auto* const wait = std::get_if<RecordedWait>(&call.what)) {
      if (contradicts(ends.awaited(*wait))) continue;
    }
    kept.push_back(std::move(call));
  }
  if (const std::size_t dropped = trace.calls.size() - kept.size(); dropped > 0) {
    trace.remarks.push_back(fmt::format(
        "dropped waits of other streams: {}, as the next GEMM began before the collective ended",
        dropped));
  }
  trace.calls = std::move(kept);
}

}  // namespace duet
