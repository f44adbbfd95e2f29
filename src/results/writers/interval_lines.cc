#include "results/writers/interval_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/record_kind.h"
#include "timing/median_interval.h"
#include "timing/mode.h"

namespace duet {
namespace {

constexpr double kWide = 0.02;       // half the width over the median
constexpr double kTimesHalving = 4;  // the time that halves an interval

bool is_wide(const Seconds& seconds) {
  const double half = (seconds.ci_high - seconds.ci_low) / 2;
  return seconds.median > 0 && half > kWide * seconds.median;
}

// Whether a sample is one call and nothing is between two, so that the samples tell how long the
// case was measured, and more time gives more of them.
bool has_a_sample_a_call(const Record& record) {
  const bool several =
      record_kind(record.id.benchmark).several_calls || axis_number(record.id, "graph_calls") > 0;
  const bool can_grow = kTimesHalving * static_cast<double>(record.seconds.n) <=
                        static_cast<double>(Mode{}.max_iterations);
  return !several && can_grow && record.mode == name(ModeKind::adaptive) && !record.flushed;
}

bool is_drifting(const Seconds& seconds) {
  return !seconds.bounded && seconds.n >= kFewestThatDrift;
}

// Seconds as the flag takes them, rounded up to two digits.
std::string round_seconds(double seconds) {
  const double unit = std::pow(10, std::floor(std::log10(seconds)) - 1);
  return fmt::format("{:g}", std::ceil(seconds / unit - 1e-9) * unit);
}

}  // namespace

std::string interval_lines(const std::vector<Record>& records) {
  int measured = 0, wide = 0, drifting = 0;
  double longest = 0;
  for (const Record& record : records) {
    if (record.outcome != Outcome::measured) continue;
    ++measured;
    const Seconds& seconds = record.seconds;
    if (!has_a_sample_a_call(record) || seconds.stopped_by != "time" || seconds.n < 2 ||
        !is_wide(seconds))
      continue;
    ++wide;
    drifting += is_drifting(seconds) ? 1 : 0;
    longest = std::max(longest, static_cast<double>(seconds.n) * seconds.mean);
  }
  if (wide == 0) return "";
  std::string drift;
  if (drifting > 0) {
    drift = fmt::format(" ({} {}: clocks or load still change)", drifting,
                        drifting == 1 ? "drifts" : "drift");
  }
  return fmt::format("  {} of {} {} +- over {:.0f}%{}: --seconds {} would halve it\n", wide,
                     measured,
                     measured == 1 ? "case has"
                     : wide == 1   ? "cases has"
                                   : "cases have",
                     100 * kWide, drift, round_seconds(kTimesHalving * longest));
}

}  // namespace duet
