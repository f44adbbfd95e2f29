#include "soak/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/plain_text.h"
#include "core/units.h"
#include "results/writers/progress.h"
#include "timing/statistics.h"

namespace duet {
namespace {

constexpr std::size_t kFewestRates = 5;

using RateKey = std::pair<std::string, std::string>;  // product and model

// Rates of devices by what they can be compared with.
std::map<RateKey, std::vector<double>> rates_by_key(const SoakReport& report) {
  std::map<RateKey, std::vector<double>> rates;
  for (const SoakRound& round : report.rounds) {
    for (std::size_t i = 0; i < round.tflops.size() && i < report.models.size(); ++i) {
      if (round.tflops[i] > 0) rates[{round.product, report.models[i]}].push_back(round.tflops[i]);
    }
  }
  return rates;
}

std::map<RateKey, double> medians_of(const SoakReport& report) {
  std::map<RateKey, double> medians;
  for (auto& [key, rates] : rates_by_key(report)) {
    if (rates.size() < kFewestRates) continue;
    std::sort(rates.begin(), rates.end());
    medians[key] = quantile(rates, 0.5);
  }
  return medians;
}

// Calls each(round, device, rate over the median).
template <typename Each>
void for_ratios(const SoakReport& report, const Each& each) {
  const std::map<RateKey, double> medians = medians_of(report);
  for (const SoakRound& round : report.rounds) {
    for (std::size_t i = 0; i < round.tflops.size() && i < report.models.size(); ++i) {
      const auto median = medians.find({round.product, report.models[i]});
      if (median == medians.end() || round.tflops[i] <= 0) continue;
      each(round, i, round.tflops[i] / median->second);
    }
  }
}

// "1.2 PB": decimal, as rates are.
std::string amount_text(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit > 0 ? 1 : 0, units[unit]);
}

// "rates 0.97 to 1.02 of their medians"; "" where there are none to compare.
std::string ratios_text(const SoakReport& report) {
  double least = 0, most = 0;
  for_ratios(report, [&](const SoakRound&, std::size_t, double ratio) {
    least = least > 0 ? std::min(least, ratio) : ratio;
    most = std::max(most, ratio);
  });
  if (most <= 0) return "";
  return fmt::format("; rates {:.2f} to {:.2f} of their medians", least, most);
}

std::string shown(const RoundFinding& one) {
  const std::string text = text_of(one.finding);
  return one_line(one.round > 0 ? fmt::format("round {}: {}", one.round, text) : text);
}

// All that is wrong, the most important first.
std::vector<std::string> faults_of(const SoakReport& report) {
  std::vector<std::string> faults;
  for (const RoundFinding& one : findings_of(report)) faults.push_back(shown(one));
  faults.insert(faults.end(), report.checks.begin(), report.checks.end());
  if (!report.stopped.empty()) faults.insert(faults.begin(), report.stopped);
  return faults;
}

}  // namespace

SoakTotals totals_of(const SoakReport& report) {
  SoakTotals totals;
  for (const SoakRound& round : report.rounds) {
    totals.seconds += round.seconds;
    totals.flop += round.flop;
    totals.compared_bytes += round.compared_bytes;
    totals.wire_bytes += round.wire_bytes;
    totals.wrong += round.wrong;
  }
  return totals;
}

std::vector<RoundFinding> slow_rounds(const SoakReport& report) {
  std::vector<RoundFinding> slow;
  if (report.slow_below <= 0) return slow;
  for_ratios(report, [&](const SoakRound& round, std::size_t device, double ratio) {
    if (ratio >= report.slow_below) return;
    std::string text = fmt::format("{:.2f} of the median rate of {}", ratio, round.product);
    if (device < round.limits.size() && !round.limits[device].empty()) {
      text += "; clocks limited by: " + round.limits[device];
    }
    slow.push_back({round.round, {SoakFault::slow, report.devices.at(device), text}});
  });
  return slow;
}

std::vector<RoundFinding> findings_of(const SoakReport& report) {
  std::vector<RoundFinding> all;
  for (const SoakRound& round : report.rounds) {
    for (const SoakFinding& finding : round.findings) all.push_back({round.round, finding});
  }
  for (RoundFinding& one : slow_rounds(report)) all.push_back(std::move(one));
  for (RoundFinding& one : slow_devices(report)) all.push_back(std::move(one));
  return all;
}

bool is_faulty(const SoakReport& report) { return !faults_of(report).empty(); }

std::string one_line_of(const SoakReport& report, std::size_t most) {
  const std::vector<std::string> wrong = faults_of(report);
  const SoakTotals totals = totals_of(report);
  const char* word = !wrong.empty() ? "FAIL" : report.interrupted ? "STOPPED" : "OK";
  std::string line = fmt::format("duet soak: {} {}: ", word, report.host);
  if (report.interrupted) line += "interrupted; ";
  for (std::size_t i = 0; i < std::min(most, wrong.size()); ++i) line += wrong[i] + "; ";
  if (wrong.size() > most) line += fmt::format("{} more faults; ", wrong.size() - most);
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  line += fmt::format("{} in {} on {}: {} compared, {:.0f} wrong results, {} moved",
                      counted(report.rounds.size(), "round"), duration_text(totals.seconds),
                      counted(report.devices.size(), "device"), amount_text(totals.compared_bytes),
                      totals.wrong, amount_text(totals.wire_bytes));
  // A simulated device spends most of a round on what has no contents.
  if (!report.virtual_time && totals.seconds > 0 && !report.devices.empty()) {
    line += fmt::format(", {} TFLOP/s a device",
                        format_rate(totals.flop / totals.seconds / 1e12 /
                                    static_cast<double>(report.devices.size())));
  }
  return one_line(line + ratios_text(report));
}

std::string lines_of(const SoakReport& report) {
  std::string lines;
  for (const std::string& each : faults_of(report)) lines += one_line(each) + '\n';
  return lines;
}

}  // namespace duet
