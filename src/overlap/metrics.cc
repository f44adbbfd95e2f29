#include "overlap/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<Balance> kBalances[] = {
    {Balance::g_long, "G-long"}, {Balance::c_long, "C-long"}, {Balance::gc_equal, "GC-equal"}};

constexpr double kLonger = 1.15;

void require_time(double seconds, const char* what) {
  if (seconds > 0) return;
  throw BadArgument(fmt::format("overlap: {} of {} s: expected more than 0", what, seconds));
}

}  // namespace

OverlapMetrics overlap_metrics(const OverlapTimes& t) {
  require_time(t.compute, "compute alone");
  require_time(t.communication, "communication alone");
  require_time(t.together, "all together");
  OverlapMetrics metrics;
  const double serial = t.compute + t.communication + t.copy;
  metrics.speedup = serial / t.together;
  metrics.ideal_speedup = serial / std::max({t.compute, t.communication, t.copy});
  metrics.bound = std::max({t.least_compute, t.least_communication, t.copy}) / t.together;
  metrics.compute_slowdown = t.compute_beside / t.compute;
  if (t.engine > 0) metrics.communication_slowdown = t.communication_beside / t.engine;
  if (t.copy > 0) metrics.copy_slowdown = t.copy_beside / t.copy;
  const double to_gain = metrics.ideal_speedup - 1;
  if (to_gain > 0) metrics.fraction_of_ideal = (metrics.speedup - 1) / to_gain;
  return metrics;
}

Balance balance(double compute, double communication) {
  if (compute > kLonger * communication) return Balance::g_long;
  if (communication > kLonger * compute) return Balance::c_long;
  return Balance::gc_equal;
}

std::string_view name(Balance balance) { return name_of(kBalances, balance); }

}  // namespace duet
