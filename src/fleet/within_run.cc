#include "fleet/within_run.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "fleet/cases.h"
#include "fleet/report.h"

namespace duet {
namespace {

constexpr const char* kOwnNode = "node";  // its name is of no matter

FleetInput input_of(const Environment& environment, const std::vector<Record>& records) {
  FleetInput input;
  const FleetRun run(environment, kOwnNode);
  input.samples.node(kOwnNode);
  input.nodes.resize(1);
  std::map<std::pair<int, int>, FleetSample> samples;  // by figure and place
  for (const Record& record : records) {
    const auto one = run.case_of(record);
    if (!one) continue;
    std::vector<int> units;
    for (const NamedUnit& unit : one->units) units.push_back(input.samples.unit(0, unit.unit));
    const int figure = input.samples.figure(one->key, one->figure());
    const int place = input.samples.place(units);
    samples[{figure, place}] = {figure, place, one->value, one->usual, one->deviation};
  }
  for (const auto& [key, sample] : samples) input.samples.add(sample);
  return input;
}

}  // namespace

PeersWithin peers_within(const Environment& environment, const std::vector<Record>& records) {
  const FleetReport report = fleet_report(input_of(environment, records), {}, {});
  PeersWithin peers;
  peers.figures = judged_figures(report);
  const std::string head = std::string(kOwnNode) + " ";
  for (const FleetSuspect& suspect : report.judgement.suspects) {
    std::string place = place_text(suspect, report);
    if (place.rfind(head, 0) == 0) place.erase(0, head.size());
    peers.unlike.push_back({place, suspect.sureness,
                            fmt::format("{:.1f}% slower than its peers in {} ({})",
                                        100 * suspect.evidence.front().loss, evidence_text(suspect),
                                        name(suspect.sureness))});
  }
  return peers;
}

}  // namespace duet
