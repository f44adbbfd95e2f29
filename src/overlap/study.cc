#include "overlap/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/names.h"
#include "core/toml_table.h"

namespace duet {
namespace {

constexpr Range kFraction{-10, 10, "of ideal"};
constexpr Range kSpeedup{1, 2, ""};
constexpr int kMostRanks = 1 << 20;

FractionRange read_range(TomlTable& table, const char* key) {
  TomlTable range = table.table(key);
  FractionRange found{range.number("low", kFraction), range.number("high", kFraction)};
  range.finish();
  return found;
}

StudyFigure read_figure(TomlTable table) {
  StudyFigure figure;
  figure.name = table.text("name");
  figure.policies = table.texts("policies");
  if (table.has("memory_bound_policies")) {
    figure.memory_bound_policies = table.texts("memory_bound_policies");
  }
  figure.mean = table.number("mean", kFraction);
  for (const char* collective : {"all_gather", "all_to_all"}) {
    if (table.has(collective)) figure.ranges[collective] = read_range(table, collective);
  }
  table.finish();
  return figure;
}

// "mb1_896M" of "mb1_896M all_gather".
std::string tag_of(const StudyOutcome& outcome) {
  return outcome.scenario.substr(0, outcome.scenario.find(' '));
}

const std::vector<std::string>& policies_of(const Study& study, const StudyFigure& figure,
                                            const StudyOutcome& outcome) {
  const bool by_memory = outcome.scenario.rfind(study.memory_bound, 0) == 0;
  return by_memory && !figure.memory_bound_policies.empty() ? figure.memory_bound_policies
                                                            : figure.policies;
}

// The fraction of the fastest policy; empty if the outcome lacks one of them.
std::optional<double> fraction(const std::vector<std::string>& policies,
                               const StudyOutcome& outcome) {
  std::optional<double> best;
  for (const std::string& policy : policies) {
    const auto found = outcome.fraction.find(policy);
    if (found == outcome.fraction.end()) return std::nullopt;
    best = std::max(best.value_or(found->second), found->second);
  }
  return best;
}

std::string in_words(const StudyFigure& figure) {
  const auto list = [](const std::vector<std::string>& policies) {
    return policies.size() == 1 ? policies[0]
                                : fmt::format("the fastest of {}", fmt::join(policies, ", "));
  };
  if (figure.memory_bound_policies.empty()) return list(figure.policies);
  return fmt::format("{}, and {} where the GEMM is bound by memory", list(figure.policies),
                     list(figure.memory_bound_policies));
}

struct Mean {
  double sum = 0;
  int count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return sum / count; }
};

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

Study parse_study(const std::string& key, std::string_view text) {
  const std::string file = key + ".toml";
  const toml::table parsed = TomlTable::parse(file, text);
  TomlTable table(file, "", parsed);
  Study study;
  study.key = key;
  study.name = table.text("name");
  study.scenarios = table.text("scenarios");
  study.device = table.text("device");
  study.ranks = table.count("ranks", 2, kMostRanks);
  study.memory_bound = table.text("memory_bound");
  study.ideal_speedup = table.number("ideal_speedup", kSpeedup);
  study.source = table.text("source");
  for (const TomlTable& figure : table.tables("figure")) {
    study.figures.push_back(read_figure(figure));
  }
  for (TomlTable each : table.tables("class")) {
    const std::string name = each.word("name", {"G-long", "C-long", "GC-equal"});
    for (const std::string& tag : each.texts("scenarios")) study.classes[tag] = name;
    each.finish();
  }
  table.finish();
  return study;
}

const std::vector<Study>& studies() {
  static const std::vector<Study> all = [] {
    std::vector<Study> list;
    for (const auto& [key, text] : built_in_studies()) list.push_back(parse_study(key, text));
    return list;
  }();
  return all;
}

const Study& find_study(const std::string& key) {
  std::vector<std::string> keys;
  for (const Study& study : studies()) {
    if (study.key == key) return study;
    keys.push_back(study.key);
  }
  throw UsageError(fmt::format("study '{}'{}: expected {}", key, did_you_mean(key, keys),
                               fmt::join(keys, ", ")));
}

std::vector<StudyRow> beside_study(const Study& study, const std::vector<StudyOutcome>& outcomes) {
  std::vector<StudyRow> rows;
  for (const StudyFigure& figure : study.figures) {
    Mean all;
    std::map<std::string, std::map<std::string, Mean>> classes;  // by collective and class
    for (const StudyOutcome& outcome : outcomes) {
      const auto known = study.classes.find(tag_of(outcome));
      const auto own = fraction(policies_of(study, figure, outcome), outcome);
      if (known == study.classes.end() || !own) continue;
      all.add(*own);
      classes[outcome.collective][known->second].add(*own);
    }
    if (all.count == 0) continue;
    StudyRow row{figure, in_words(figure), all.count, all.value(), {}};
    for (const auto& [collective, means] : classes) {
      FractionRange range{means.begin()->second.value(), means.begin()->second.value()};
      for (const auto& [name, mean] : means) {
        range = {std::min(range.low, mean.value()), std::max(range.high, mean.value())};
      }
      row.ranges[collective] = range;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int classes_as_reported(const Study& study, const std::vector<StudyOutcome>& outcomes) {
  return static_cast<int>(
      std::count_if(outcomes.begin(), outcomes.end(), [&](const StudyOutcome& outcome) {
        const auto known = study.classes.find(tag_of(outcome));
        return known != study.classes.end() && known->second == outcome.balance;
      }));
}

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
