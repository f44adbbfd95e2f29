#include "run/case_list.h"

#include <fmt/format.h>

#include "results/writers/axis_columns.h"
#include "results/writers/progress.h"

namespace duet {
namespace {

// False for `loop`, which has a number of calls and no time, and for simulated devices, whose time
// is virtual.
bool has_time(const Case& one) {
  const bool simulated = one.id.device.rfind("sim:", 0) == 0;  // as all such machines are named
  return !simulated && one.mode && one.mode->kind != ModeKind::loop;
}

}  // namespace

void print_cases(const std::vector<Job>& jobs, std::ostream& out) {
  int cases = 0, timed = 0;
  double seconds = 0;
  for (const Job& job : jobs) {
    for (const Case& one : job.benchmark.cases) {
      out << line_of(one.id) << '\n';
      ++cases;
      if (!has_time(one)) continue;
      ++timed;
      seconds += one.mode->warm_up_seconds + one.mode->seconds;
    }
  }
  out << fmt::format("{} {}", cases, cases == 1 ? "case" : "cases");
  if (timed > 0) {
    out << fmt::format(", up to about {} to warm up and measure", duration_text(seconds));
    if (timed < cases) out << fmt::format(" {} of them", timed);
    out << "; preparation comes on top";
  }
  out << '\n';
}

}  // namespace duet
