#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "overlap/study.h"

namespace duet {
namespace {

// The outcomes of a device's overlap records on so many ranks, by scenario. A policy that was swept
// counts with its fastest point.
std::vector<StudyOutcome> outcomes_of(const std::vector<const Record*>& records,
                                      const std::string& device, int ranks) {
  std::map<std::string, StudyOutcome> found;
  for (const Record* record : records) {
    const CaseId& id = record->id;
    const double* fraction = record->metrics.find("fraction_of_ideal");
    if (id.benchmark != "overlap" || id.device != device || axis_number(id, "ranks") != ranks ||
        axis_true(id, "in_place") || fraction == nullptr) {
      continue;
    }
    const std::string scenario = axis_word(id, "scenario"), policy = axis_word(id, "policy");
    StudyOutcome& outcome = found[scenario];
    outcome.scenario = scenario;
    outcome.collective = axis_word(id, "collective");
    const auto known =
        outcome.fraction.emplace(policy.substr(0, policy.find(':')), *fraction).first;
    known->second = std::max(known->second, *fraction);
  }
  std::vector<StudyOutcome> all;
  for (auto& [name, outcome] : found) all.push_back(std::move(outcome));
  return all;
}

Json range_to_json(const std::map<std::string, FractionRange>& ranges) {
  Json json = Json::object();
  for (const auto& [collective, range] : ranges) json[collective] = {range.low, range.high};
  return json;
}

}  // namespace

std::vector<Json> studies_beside(const std::vector<const Record*>& records,
                                 const std::string& device, const std::string& model) {
  std::vector<Json> list;
  for (const Study& study : studies()) {
    if (study.device != model) continue;
    Json rows = Json::array();
    for (const StudyRow& row : beside_study(study, outcomes_of(records, device, study.ranks))) {
      rows.push_back({{"name", row.reported.name},
                      {"policies", row.policies},
                      {"scenarios", row.scenarios},
                      {"reported", row.reported.mean},
                      {"mean", row.mean},
                      {"reported_ranges", range_to_json(row.reported.ranges)},
                      {"ranges", range_to_json(row.ranges)}});
    }
    if (rows.empty()) continue;
    list.push_back(Json{{"device", device},
                        {"name", study.name},
                        {"source", study.source},
                        {"scenarios", 2 * study.classes.size()},
                        {"rows", rows}});
  }
  return list;
}

}  // namespace duet
