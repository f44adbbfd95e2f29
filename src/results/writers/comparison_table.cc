#include "results/writers/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/units.h"
#include "results/rates.h"
#include "results/writers/axis_columns.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

constexpr std::array<Change, 7> kOrder = {Change::worse,   Change::better, Change::unchanged,
                                          Change::missing, Change::added,  Change::not_comparable,
                                          Change::skipped};

// The sort key: group, then position in the group.
std::pair<int, double> rank(const ComparedCase& one) {
  if (one.broke) return {0, 0};
  if (one.change == Change::worse) return {1, one.percent.value_or(0)};
  if (one.change == Change::better) return {2, -one.percent.value_or(0)};
  return {3, 0};
}

bool is_shown(const ComparedCase& one, bool all) {
  return all || (one.change != Change::unchanged && one.change != Change::skipped);
}

// The rate; without one the time, and without a measurement the outcome.
std::string figure(const Record* record) {
  if (record == nullptr) return "-";
  const Outcome outcome = outcome_of(*record);
  if (outcome != Outcome::measured) return name(outcome);
  const std::string rate = main_rate(*record);
  return rate.empty() ? format_seconds((*record)["seconds"]["median"].get<double>()) : rate;
}

}  // namespace

std::string verdict_text(const ComparedCase& one) {
  std::string text = name(one.change);
  if (!one.reason.empty()) text += ": " + one.reason.substr(0, one.reason.find('\n'));
  return one.one_sample ? text + " (one sample)" : text;
}

std::string change_text(const ComparedCase& one) {
  return one.percent ? fmt::format("{:+.1f}%", *one.percent) : "";
}

std::string noise_text(const ComparedCase& one) {
  return one.noise ? fmt::format("{:.1f}%", *one.noise) : "";
}

std::string comparison_noise(const std::vector<ComparedCase>& cases) {
  std::vector<double> all;
  for (const ComparedCase& one : cases) {
    if (one.noise) all.push_back(*one.noise);
  }
  if (all.empty()) return "";
  std::sort(all.begin(), all.end());
  return fmt::format("noise: a case is worse from {:.1f}% on in the median, {:.1f}% at most",
                     all[all.size() / 2], all.back());
}

std::string comparison_table(const std::vector<ComparedCase>& cases, bool all) {
  std::vector<const ComparedCase*> shown;
  for (const ComparedCase& one : cases) {
    if (is_shown(one, all)) shown.push_back(&one);
  }
  if (shown.empty()) return "";
  std::stable_sort(shown.begin(), shown.end(),
                   [](const auto* a, const auto* b) { return rank(*a) < rank(*b); });
  const std::string& device = shown.front()->id.device;
  const bool several = std::any_of(shown.begin(), shown.end(),
                                   [&](const auto* one) { return one->id.device != device; });
  std::vector<std::vector<std::string>> rows;
  for (const ComparedCase* one : shown) {
    const std::string where = several ? one->id.device + ": " : "";
    rows.push_back({one->id.benchmark, one->id.engine, where + case_text(one->id),
                    figure(one->base), figure(one->now), change_text(*one), noise_text(*one),
                    verdict_text(*one)});
  }
  return table({{"benchmark"},
                {"engine"},
                {"case"},
                {"base", Align::right},
                {"new", Align::right},
                {"change", Align::right},
                {"noise", Align::right},
                {"verdict"}},
               rows, "  ");
}

std::string comparison_counts(const std::vector<ComparedCase>& cases) {
  std::string text = fmt::format("{} {}: ", cases.size(), cases.size() == 1 ? "case" : "cases");
  for (const Change change : kOrder) {
    const auto count = std::count_if(cases.begin(), cases.end(),
                                     [&](const auto& one) { return one.change == change; });
    const bool always = change == Change::worse || change == Change::better;
    if (count == 0 && !always && change != Change::unchanged) continue;
    text += fmt::format("{}{} {}", change == kOrder.front() ? "" : ", ", count, name(change));
  }
  return text;
}

}  // namespace duet
