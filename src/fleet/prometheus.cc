#include <algorithm>
#include <cmath>
#include <map>

#include "core/prometheus_text.h"
#include "fleet/report.h"

namespace duet {
namespace {

std::string suspect_metrics(const FleetReport& report) {
  PrometheusMetric losses =
      prometheus_gauge("duet_fleet_suspect_loss_ratio",
                       "The share of its peers' rate that a suspected place lacks.");
  for (const FleetSuspect& one : report.judgement.suspects) {
    losses.add({{"place", place_text(one, report)},
                {"figures", one.evidence.front().kind},
                {"sure", name(one.sureness)}},
               one.evidence.front().loss);
  }
  return losses.text();
}

// Of each node and kind of figures the median of its rates over those of its peers.
std::string node_metrics(const FleetReport& report) {
  const FleetSamples& samples = report.input.samples;
  std::map<std::pair<int, std::string>, std::vector<double>> residuals;
  for (std::size_t i = 0; i < samples.samples().size(); ++i) {
    const FleetSample& one = samples.samples()[i];
    if (!report.judgement.figures[static_cast<std::size_t>(one.figure)].judged) continue;
    const std::string& kind = samples.figures()[static_cast<std::size_t>(one.figure)].kind;
    for (const int unit : samples.places()[static_cast<std::size_t>(one.place)].units) {
      const int node = samples.units()[static_cast<std::size_t>(unit)].node;
      residuals[{node, kind}].push_back(report.judgement.residuals[i]);
    }
  }
  PrometheusMetric ratios = prometheus_gauge(
      "duet_fleet_node_ratio", "The median rate of a node's figures over those of its peers.");
  for (auto& [of, all] : residuals) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    ratios.add(
        {{"node", samples.nodes()[static_cast<std::size_t>(of.first)]}, {"figures", of.second}},
        std::exp(*middle));
  }
  return ratios.text();
}

}  // namespace

const char* const kFleetPrometheusHead = "# HELP duet_fleet_ok ";

std::string fleet_prometheus(const FleetReport& report, double unix_seconds) {
  std::string text;
  const auto add = [&](const char* name, const char* help, double value) {
    PrometheusMetric one = prometheus_gauge(name, help);
    one.add({}, value);
    text += one.text();
  };
  const FleetInput& input = report.input;
  const auto faults = std::count_if(input.nodes.begin(), input.nodes.end(), has_fault);
  add("duet_fleet_ok", "1 if duet fleet found nothing unlike, else 0.",
      findings(report) == 0 ? 1 : 0);
  add("duet_fleet_time_seconds", "When duet fleet ended, in seconds since 1970.", unix_seconds);
  add("duet_fleet_nodes", "Nodes with journals.", static_cast<double>(input.nodes.size()));
  add("duet_fleet_suspects", "Places that are slower than their peers.",
      static_cast<double>(report.judgement.suspects.size()));
  add("duet_fleet_missing_nodes", "Expected nodes without a journal.",
      static_cast<double>(report.missing.size()));
  add("duet_fleet_faulty_nodes", "Nodes with failed, lacking or incomplete cases.",
      static_cast<double>(faults));
  return text + suspect_metrics(report) + node_metrics(report);
}

}  // namespace duet
