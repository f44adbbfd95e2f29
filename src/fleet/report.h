// What `duet fleet` says of a fleet, and its forms: text, JSON, Prometheus.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/journals.h"
#include "fleet/judge.h"
#include "fleet/settings.h"
#include "results/record_json.h"

namespace duet {

struct FleetReport {
  FleetInput input;
  std::vector<FleetGroup> groups;
  FleetJudgement judgement;
  std::vector<SettingDifference> differences;
  std::vector<std::string> missing;  // nodes that were expected and have no journal
};

// Judges what was read. `groups`: nodes by the group's name, of which those without journals are
// left out; `expected`: names of nodes that should be there. Suspects that go with a setting stand
// behind the others.
FleetReport fleet_report(FleetInput input,
                         const std::map<std::string, std::vector<std::string>>& groups,
                         const std::vector<std::string>& expected);

// Figures with enough peers to be judged.
int judged_figures(const FleetReport& report);

// Suspects, missing nodes, nodes with faults, and journals that cannot be read.
int findings(const FleetReport& report);

// Failed or lacking cases, or an incomplete journal.
bool has_fault(const FleetNode& node);

// "node7 cuda:3", "node7 cuda:0 - cuda:3", "group leaf2".
std::string place_text(const FleetSuspect& suspect, const FleetReport& report);
// "gemm 6 of 6, copy peer 3 of 42; follows: collective all_reduce 4 of 4".
std::string evidence_text(const FleetSuspect& suspect);
// A command that tells more of a suspect, to be run on its nodes or, over two nodes, by srun.
std::string next_command(const FleetSuspect& suspect, const FleetReport& report);

// At most `most` suspects as a table under "Slower than their peers:"; "" where there are none.
std::string suspects_table(const FleetReport& report, std::size_t most);
// One line: "duet fleet: FAIL: 64 nodes: 2 suspects, 1 missing node".
std::string fleet_line(const FleetReport& report);
// That line, a table of suspects, a line for what else was found, and a table of what was compared.
// At most `most` suspects, and as many of each other finding.
std::string fleet_text(const FleetReport& report, std::size_t most);
Json fleet_json(const FleetReport& report);

// Of the page: as fleet_json(), with the slowest nodes by figure, the distribution of each figure
// and the pairs of suspects (src/report/web/model.js).
Json fleet_page_data(const FleetReport& report);

// The first bytes of every such text. Only files that begin so are replaced.
extern const char* const kFleetPrometheusHead;
std::string fleet_prometheus(const FleetReport& report, double unix_seconds);

}  // namespace duet
