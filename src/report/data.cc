#include "report/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "overlap/study.h"
#include "results/environment.h"
#include "results/journal.h"
#include "results/version.h"
#include "verdict/verdict.h"

namespace duet {
namespace {

Record ceilings_to_json(const Ceilings& ceilings) {
  Record json = {{"model", ceilings.model}};
  if (ceilings.spec != nullptr) {
    const DeviceSpec& spec = *ceilings.spec;
    json["name"] = spec.name;
    json["source"] = "promised";
    json["sources"] = {spec.sources, "specs/devices/" + spec.file + ".toml"};
    for (const auto& [dtype, rate] : spec.tflops) json["tflops"][std::string(name(dtype))] = rate;
    json["memory_gb_per_s"] = spec.memory_gb_per_s;
    if (ceilings.link_gb_per_s > 0) json["link_gb_per_s"] = ceilings.link_gb_per_s;
    json["host_link_gb_per_s"] = spec.host_link_gb_per_s;
    json["watts"] = spec.watts;
    return json;
  }
  const MeasuredPeaks& peaks = ceilings.peaks;
  const bool measured = !peaks.tflops.empty() || !peaks.gb_per_s.empty();
  json["source"] = measured ? "measured" : "none";
  for (const auto& [dtype, peak] : peaks.tflops) json["tflops"][dtype] = peak.fastest;
  for (const auto& [executor, peak] : peaks.gb_per_s) {
    const double before = json.value("memory_gb_per_s", 0.0);
    json["memory_gb_per_s"] = std::max(before, peak.fastest);
  }
  return json;
}

// The outcomes of a device's overlap records on so many ranks, by scenario. A policy that was swept
// counts with its fastest point.
std::vector<StudyOutcome> outcomes_of(const Record& records, const std::string& device, int ranks) {
  std::map<std::string, StudyOutcome> found;
  for (const Record& record : records) {
    if (record["benchmark"] != "overlap" || record["device"] != device) continue;
    const auto metrics = metrics_of(record);
    const auto of_ideal = metrics.find("fraction_of_ideal");
    if (axis_number(record, "ranks") != ranks || axis_true(record, "in_place") ||
        of_ideal == metrics.end()) {
      continue;
    }
    const std::string scenario = axis_word(record, "scenario"),
                      policy = axis_word(record, "policy");
    StudyOutcome& outcome = found[scenario];
    outcome.scenario = scenario;
    outcome.collective = axis_word(record, "collective");
    const double fraction = of_ideal->second;
    const auto known = outcome.fraction.emplace(policy.substr(0, policy.find(':')), fraction).first;
    known->second = std::max(known->second, fraction);
  }
  std::vector<StudyOutcome> all;
  for (auto& [name, outcome] : found) all.push_back(std::move(outcome));
  return all;
}

Record range_to_json(const std::map<std::string, FractionRange>& ranges) {
  Record json = Record::object();
  for (const auto& [collective, range] : ranges) json[collective] = {range.low, range.high};
  return json;
}

// What studies report of a device and of scenarios that a journal has, beside the journal's
// figures.
Record studies_to_json(const Record& records, const std::map<std::string, Ceilings>& ceilings) {
  Record list = Record::array();
  for (const auto& [device, ceiling] : ceilings) {
    for (const Study& study : studies()) {
      if (study.device != ceiling.model) continue;
      Record rows = Record::array();
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
      list.push_back({{"device", device},
                      {"name", study.name},
                      {"source", study.source},
                      {"scenarios", 2 * study.classes.size()},
                      {"rows", rows}});
    }
  }
  return list;
}

// A journal with the last record of each case, in the order of first appearance.
class Builder {
 public:
  Record build(const ReportJournal& journal, const std::string& name) {
    std::vector<Record> shown;
    for (const Record& record : journal.records)
      evaluator_.see(record);  // all engines of each case
    for (const Record& record : journal.records) shown.push_back(take(record));
    Record records = Record::array();
    for (const std::size_t i : results_that_count(journal.records)) records.push_back(shown[i]);
    Record ceilings = Record::object();
    for (const auto& [device, one] : evaluator_.ceilings())
      ceilings[device] = ceilings_to_json(one);
    const Record studies = studies_to_json(records, evaluator_.ceilings());
    return {{"name", name},         {"studies", studies},           {"environments", environments_},
            {"ceilings", ceilings}, {"warnings", journal.warnings}, {"records", records}};
  }

 private:
  // What the page has of a result; an environment is kept, and gives null.
  Record take(const Record& record) {
    const bool environment = record["type"] == "environment";
    if (environment) environments_.push_back(record);
    evaluator_.see(record);
    if (environment) return nullptr;
    Record shown = record;
    shown.erase("samples");
    shown["environment"] = environments_.empty() ? 0 : environments_.size() - 1;
    if (outcome_of(record) == Outcome::measured) {
      shown["verdict"] = verdict_to_json(evaluator_.evaluate(record));
    }
    const std::string warning = evaluator_.warning(record);
    if (!warning.empty()) shown["warnings"].push_back(warning);
    return shown;
  }

  Evaluator evaluator_;
  Record environments_ = Record::array();
};

// The last `parts` parts of a path.
std::string ending(const std::filesystem::path& path, std::size_t parts) {
  const std::vector<std::filesystem::path> all(path.begin(), path.end());
  std::filesystem::path end;
  for (std::size_t i = all.size() - std::min(parts, all.size()); i < all.size(); ++i) end /= all[i];
  return end.string();
}

// File names with as many of their folders as make them differ; equal paths are numbered.
std::vector<std::string> short_names(const std::vector<ReportJournal>& journals) {
  constexpr std::size_t kMostParts = 8;
  std::vector<std::string> names;
  for (std::size_t parts = 1; parts <= kMostParts; ++parts) {
    names.clear();
    for (const ReportJournal& journal : journals) names.push_back(ending(journal.name, parts));
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) return names;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = fmt::format("{} ({})", ending(journals[i].name, 1), i + 1);
  }
  return names;
}

}  // namespace

Record report_data(const std::vector<ReportJournal>& journals) {
  return report_data(journals, Record());
}

Record report_data(const std::vector<ReportJournal>& journals, const Record& history) {
  Record list = Record::array();
  const std::vector<std::string> names = short_names(journals);
  for (std::size_t i = 0; i < journals.size(); ++i) {
    list.push_back(Builder().build(journals[i], names[i]));
  }
  Record data = {{"duet", version()}, {"revision", revision()}, {"made_utc", time_utc()}};
  data["journals"] = std::move(list);
  data["reported"] = reported_rows();
  data["reported_steps"] = reported_steps();
  data["reported_parallel_steps"] = reported_parallel_steps();
  data["reported_halo"] = reported_halo();
  data["reported_collectives"] = reported_collectives();
  if (!history.empty()) data["history"] = history;
  return data;
}

}  // namespace duet
