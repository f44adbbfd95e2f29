#include "report/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "results/environment.h"
#include "results/version.h"
#include "verdict/verdict.h"
#include "workload/workload.h"

namespace duet {
namespace {

Json ceilings_to_json(const Ceilings& ceilings) {
  Json json = {{"model", ceilings.model}};
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
  json["source"] = peaks.empty() ? "none" : "measured";
  for (const auto& [of, peak] : peaks) {
    if (peak.rate == "tflops") {
      json["tflops"][axis_word(peak.record.id, "dtype")] = peak.fastest;
    } else {
      const double before = json.value("memory_gb_per_s", 0.0);
      json["memory_gb_per_s"] = std::max(before, peak.fastest);
    }
  }
  return json;
}

Json verdict_to_json(const Verdict& verdict) {
  Json json = {{"word", name(verdict.word)}};
  if (!verdict.rate.empty()) {
    json["rate"] = verdict.rate;
    json["value"] = verdict.value;
  }
  if (verdict.expected) json["expected"] = *verdict.expected;
  if (verdict.bound) json["bound"] = *verdict.bound;
  json["sentence"] = verdict.sentence;
  if (!verdict.advice.empty()) json["advice"] = verdict.advice;
  if (verdict.simulated) json["simulated"] = true;
  return json;
}

// What the page has of a result. The evaluator has seen what comes before it, and all engines of
// its case. `environment`: the place of its run.
Json shown(const Record& record, std::size_t environment, const Evaluator& evaluator) {
  Json json = to_json(record);
  json.erase("samples");
  json["environment"] = environment;
  if (record.outcome == Outcome::measured) {
    json["verdict"] = verdict_to_json(evaluator.evaluate(record));
  }
  const std::string warning = evaluator.warning(record);
  if (!warning.empty()) json["warnings"].push_back(warning);
  return json;
}

// A journal with the last record of each case, in the order of first appearance.
Json journal_to_json(const ReportJournal& journal, const std::string& name) {
  Evaluator evaluator;
  for (const JournalRun& run : journal.runs) {  // all engines of each case
    evaluator.see(run.environment);
    for (const Record& record : run.results) evaluator.see(record);
  }
  std::map<const Record*, Json> all;
  Json environments = Json::array();
  for (const JournalRun& run : journal.runs) {
    evaluator.see(run.environment);
    for (const Record& record : run.results) {
      evaluator.see(record);
      all[&record] = shown(record, environments.size(), evaluator);
    }
    environments.push_back(to_json(run.environment));
  }
  const std::vector<const Record*> counting = results_that_count(journal.runs);
  Json records = Json::array();
  for (const Record* record : counting) records.push_back(std::move(all[record]));
  Json ceilings = Json::object();
  for (const auto& [device, one] : evaluator.ceilings()) ceilings[device] = ceilings_to_json(one);
  Json studies = Json::array();
  for (const auto& [device, ceiling] : evaluator.ceilings()) {
    for (const Workload* workload : workloads()) {
      if (workload->studies == nullptr) continue;
      for (Json& study : workload->studies(counting, device, ceiling.model)) {
        studies.push_back(std::move(study));
      }
    }
  }
  return {{"name", name},         {"studies", studies},           {"environments", environments},
          {"ceilings", ceilings}, {"warnings", journal.warnings}, {"records", records}};
}

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

Json report_data(const std::vector<ReportJournal>& journals) {
  return report_data(journals, Json());
}

Json report_data(const std::vector<ReportJournal>& journals, const Json& history) {
  Json list = Json::array();
  const std::vector<std::string> names = short_names(journals);
  for (std::size_t i = 0; i < journals.size(); ++i) {
    list.push_back(journal_to_json(journals[i], names[i]));
  }
  Json data = {{"duet", version()}, {"revision", revision()}, {"made_utc", time_utc()}};
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
