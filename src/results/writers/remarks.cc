#include "results/writers/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "results/host_load.h"
#include "results/record_kind.h"
#include "results/writers/axis_columns.h"
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

constexpr std::size_t kMostReasons = 6;  // lines

}  // namespace

std::string doubt_mark(const Record& record) { return busy_with(record) ? "?" : ""; }

std::string doubt_line(const std::vector<Record>& records) {
  LoadShare most;
  for (const Record& record : records) {
    const auto load = record.outcome == Outcome::measured ? busy_with(record) : std::nullopt;
    if (!load) continue;
    most = {std::max(most.others, load->others), std::max(most.steal, load->steal)};
  }
  return is_high(most) ? fmt::format("  ? in doubt: {}\n", load_text(most)) : "";
}

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

std::string without_numbers(const std::string& text) {
  std::string out;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && !in_number) out += "...";
    in_number = digit;
  }
  return out;
}

std::string missing_lines(const std::vector<Record>& results) {
  struct Reason {
    std::string word, text, first;
    int count = 0;
  };
  std::vector<std::string> keys;
  std::vector<Reason> reasons;
  for (const Record& record : results) {
    const Outcome outcome = record.outcome;
    if (outcome == Outcome::measured || outcome == Outcome::derived) continue;
    const std::string word = outcome == Outcome::wrong ? "WRONG" : name(outcome);
    const std::string& text = record.reason;
    const std::string key = word + without_numbers(text);
    const auto found = std::find(keys.begin(), keys.end(), key);
    const auto at = static_cast<std::size_t>(found - keys.begin());
    if (found == keys.end()) keys.push_back(key);
    if (at == reasons.size()) {
      reasons.push_back({word, text, record.id.engine + " " + case_text(record.id), 0});
    }
    ++reasons[at].count;
    if (reasons[at].text != text) reasons[at].text = without_numbers(text);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    const Reason& each = reasons[i];
    text +=
        fmt::format("  {} {} {}{}: {}\n", each.count, each.count == 1 ? "case" : "cases", each.word,
                    each.word == "skipped" ? "" : " (" + each.first + ")", each.text);
  }
  if (reasons.size() > kMostReasons) {
    text += fmt::format("  and {} reasons more: --verbose\n", reasons.size() - kMostReasons);
  }
  return text;
}

}  // namespace duet
