#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/thread.h"
#include "results/record_kind.h"
#include "results/writers/axis_columns.h"
#include "results/writers/progress.h"
#include "run/runner.h"

namespace duet {
namespace {

// To open engines, to allocate and fill memory, and to verify.
constexpr double kPreparationSeconds = 0.3;
// Calls besides those that are measured: the first ones, the warm-up's last, those that verify.
constexpr int kOtherCalls = 5;
// A CPU that is slower than this on all its cores is rare.
constexpr double kFlopPerCoreAndSecond = 2e10;

// FLOP of a call, or of a step, on a CPU; 0: not known from the axes, or not on a CPU, where alone
// one call may take longer than the time to measure.
double cpu_flop(const CaseId& id) {
  const RecordKind& kind = record_kind(id.benchmark);
  return id.device.rfind("host", 0) == 0 && kind.cpu_flop != nullptr ? kind.cpu_flop(id) : 0;
}

// Nothing for `loop`, which has a number of calls and no time, and for simulated devices, whose
// time is virtual.
std::optional<double> seconds_of(const Case& one) {
  if (one.id.device.rfind("sim:", 0) == 0) return std::nullopt;  // as all such machines are named
  const double cores = std::max<double>(1, static_cast<double>(allowed_cores().size()));
  const double call = cpu_flop(one.id) / (kFlopPerCoreAndSecond * cores);
  if (const auto calls = record_kind(one.id.benchmark).calls) {
    return kPreparationSeconds + call * (kOtherCalls + calls(one.id));
  }
  if (!one.mode || one.mode->kind == ModeKind::loop) return std::nullopt;
  const double by_time = one.mode->warm_up_seconds + one.mode->seconds;
  return kPreparationSeconds + kOtherCalls * call +
         std::max(by_time, one.mode->min_iterations * call);
}

}  // namespace

void print_cases(const std::vector<Job>& jobs, std::ostream& out) {
  int cases = 0, timed = 0;
  double seconds = 0;
  for (const Job& job : jobs) {
    for (const Case& one : job.benchmark.cases) {
      out << line_of(one.id) << '\n';
      ++cases;
      const std::optional<double> time = seconds_of(one);
      if (!time) continue;
      ++timed;
      seconds += *time;
    }
  }
  out << fmt::format("{} {}", cases, cases == 1 ? "case" : "cases");
  if (timed > 0) {
    out << fmt::format(", about {} with preparation", duration_text(seconds));
    if (timed < cases) out << fmt::format(" for {} of them", timed);
  }
  out << '\n';
}

}  // namespace duet
