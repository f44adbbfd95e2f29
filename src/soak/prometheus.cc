#include <map>

#include "core/prometheus_text.h"
#include "results/record.h"
#include "soak/summary.h"

namespace duet {
namespace {

std::string finding_metrics(const SoakReport& report) {
  PrometheusMetric metric = prometheus_gauge(
      "duet_soak_findings", "What duet soak found wrong, by kind and place; none: nothing.");
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const RoundFinding& one : findings_of(report)) {
    ++counts[{name(one.finding.fault), one.finding.place}];
  }
  for (const auto& [key, count] : counts) {
    metric.add({{"fault", key.first}, {"place", key.second}}, count);
  }
  return metric.text();
}

// Of the round that ended last.
std::string device_metrics(const SoakReport& report) {
  PrometheusMetric tflops = prometheus_gauge(
      "duet_soak_gemm_tflops", "TFLOP/s of a device's multiplications alone in the last round.");
  PrometheusMetric watts =
      prometheus_gauge("duet_soak_watts", "Mean power of a device in the last round.");
  PrometheusMetric celsius =
      prometheus_gauge("duet_soak_celsius", "Highest temperature of a device in the last round.");
  PrometheusMetric clock =
      prometheus_gauge("duet_soak_compute_mhz", "Mean clock of a device in the last round.");
  PrometheusMetric limited = prometheus_gauge(
      "duet_soak_throttled", "1 if clocks were limited in the last round; the label says by what.");
  PrometheusMetric counters = prometheus_gauge(
      "duet_soak_counter_growth", "By how much a driver's counter has grown since the run began.");
  const SoakRound& last = report.rounds.back();
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const PrometheusLabels labels = {{"device", report.devices[i]}};
    if (i < last.tflops.size()) tflops.add(labels, last.tflops[i]);
    if (i < last.limits.size() && !last.limits[i].empty()) {
      limited.add({{"device", report.devices[i]}, {"reason", last.limits[i]}}, 1);
    }
    if (i >= last.devices.size()) continue;
    const TelemetrySummary seen = summary_of(last.devices[i].readings);
    if (seen.watts) watts.add(labels, seen.watts->mean);
    if (seen.celsius) celsius.add(labels, seen.celsius->max);
    if (seen.compute_mhz) clock.add(labels, seen.compute_mhz->mean);
    for (const auto& [name, growth] : last.devices[i].grown) {
      counters.add({{"device", report.devices[i]}, {"counter", name}}, static_cast<double>(growth));
    }
  }
  return tflops.text() + watts.text() + celsius.text() + clock.text() + limited.text() +
         counters.text();
}

}  // namespace

const char* const kSoakPrometheusHead = "# HELP duet_soak_ok ";

std::string prometheus_text(const SoakReport& report, double unix_seconds) {
  std::string text;
  const auto add = [&](const char* name, const char* help, double value) {
    PrometheusMetric metric = prometheus_gauge(name, help);
    metric.add({}, value);
    text += metric.text();
  };
  const SoakTotals totals = totals_of(report);
  add("duet_soak_ok", "1 if duet soak has found nothing wrong, else 0.", is_faulty(report) ? 0 : 1);
  add("duet_soak_running", "1 while duet soak runs, 0 when it has ended.", report.running ? 1 : 0);
  add("duet_soak_time_seconds", "When this was written, in seconds since 1970.", unix_seconds);
  add("duet_soak_rounds", "Rounds that have ended.", static_cast<double>(report.rounds.size()));
  add("duet_soak_duration_seconds", "How long the rounds took.", totals.seconds);
  add("duet_soak_compared_bytes", "Bytes that were compared with what they should be.",
      totals.compared_bytes);
  add("duet_soak_wrong_results", "Results that were not what they should be.", totals.wrong);
  add("duet_soak_flop", "Floating-point operations of all devices.", totals.flop);
  add("duet_soak_moved_bytes", "Bytes that left devices or came to them.", totals.wire_bytes);
  text += finding_metrics(report);
  return report.rounds.empty() ? text : text + device_metrics(report);
}

}  // namespace duet
