#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "core/units.h"
#include "results/rates.h"
#include "results/writers/axis_columns.h"
#include "results/writers/comparison.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

constexpr std::array<Change, 8> kOrder = {
    Change::worse,   Change::better, Change::too_noisy,      Change::unchanged,
    Change::missing, Change::added,  Change::not_comparable, Change::skipped};

// The change as a rising number: in percent, or in hundredths of the ideal.
double change_of(const ComparedCase& one) {
  return one.difference ? 100 * *one.difference : one.percent.value_or(0);
}

// The sort key: group, then position in the group.
std::pair<int, double> rank(const ComparedCase& one) {
  if (one.broke) return {0, 0};
  if (one.change == Change::worse) return {1, change_of(one)};
  if (one.change == Change::better) return {2, -change_of(one)};
  if (one.change == Change::too_noisy) return {3, -std::fabs(change_of(one))};
  return {4, 0};
}

bool is_shown(const ComparedCase& one, bool all) {
  if (all) return true;
  if (one.change == Change::too_noisy) return std::fabs(change_of(one)) > kPlainPercent;
  return one.change != Change::unchanged && one.change != Change::skipped;
}

// Cases of one key are shown as one line: they differ in the pair of devices only, and changed
// alike. "" for a case of no pair.
std::string pair_key(const ComparedCase& one) {
  if (one.id.axes.find("source") == nullptr || one.id.axes.find("destination") == nullptr)
    return "";
  CaseId id = one.id;
  id.axes = id.axes.without({"source", "destination"});
  return case_key(id) + verdict_text(one);
}

bool alike(const ComparedCase& a, const ComparedCase& b) {
  const double noise = std::max({a.noise.value_or(0), b.noise.value_or(0), 1.0});
  return std::fabs(change_of(a) - change_of(b)) <= noise;
}

// A case that is shown, and the number of those that it stands for besides itself.
struct TableLine {
  const ComparedCase* one;
  int more = 0;
};

std::vector<TableLine> lines_of(const std::vector<const ComparedCase*>& cases) {
  std::vector<TableLine> lines;
  std::map<std::string, std::vector<std::size_t>> by_key;  // places in `lines`
  for (const ComparedCase* one : cases) {
    const std::string key = pair_key(*one);
    std::vector<std::size_t>& places = by_key[key];
    const auto same = std::find_if(places.begin(), places.end(), [&](std::size_t place) {
      return !key.empty() && alike(*lines[place].one, *one);
    });
    if (same != places.end()) {
      ++lines[*same].more;
    } else {
      places.push_back(lines.size());
      lines.push_back({one});
    }
  }
  return lines;
}

// The rate; without one the time, and without a measurement the outcome.
std::string figure(const Record* record) {
  if (record == nullptr) return "-";
  if (record->outcome != Outcome::measured) return name(record->outcome);
  const std::string rate = main_rate(*record);
  return rate.empty() ? format_seconds(record->seconds.median) : rate;
}

using Rows = std::vector<std::vector<std::string>>;

// A longer text without its middle: "peer push..0 > 1".
std::string cut_middle(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t tail = (width - 2) / 2;
  return text.substr(0, width - 2 - tail) + ".." + text.substr(text.size() - tail);
}

// The table. If its lines are longer than `width`, cases and then verdicts lose their middle.
std::string fitting(Rows rows, std::size_t width) {
  constexpr std::size_t kCase = 2, kVerdict = 7, kShortest = 10;
  const std::vector<Column> columns = {{"benchmark"},
                                       {"engine"},
                                       {"case"},
                                       {"base", Align::right},
                                       {"new", Align::right},
                                       {"change", Align::right},
                                       {"noise", Align::right},
                                       {"verdict"}};
  std::string text = table(columns, rows, "  ");
  for (const std::size_t column : {kCase, kVerdict}) {
    const std::size_t line = width_of(text);
    if (line <= width) break;
    std::size_t widest = kShortest;
    for (const auto& row : rows) widest = std::max(widest, row[column].size());
    const std::size_t left = widest - std::min(widest - kShortest, line - width);
    for (auto& row : rows) row[column] = cut_middle(row[column], left);
    text = table(columns, rows, "  ");
  }
  return text;
}

}  // namespace

std::string verdict_text(const ComparedCase& one) {
  std::string text = name(one.change);
  if (!one.reason.empty()) text += ": " + one.reason.substr(0, one.reason.find('\n'));
  return one.one_sample ? text + " (one sample)" : text;
}

std::string change_text(const ComparedCase& one) {
  if (one.difference) return fmt::format("{:+.2f}", *one.difference);
  return one.percent ? fmt::format("{:+.1f}%", *one.percent) : "";
}

std::string noise_text(const ComparedCase& one) {
  if (one.difference_noise) return fmt::format("{:.2f}", *one.difference_noise);
  return one.noise ? fmt::format("{:.1f}%", *one.noise) : "";
}

std::string comparison_noise(const std::vector<ComparedCase>& cases) {
  std::vector<double> all;
  for (const ComparedCase& one : cases) {
    if (one.noise) all.push_back(*one.noise);
  }
  if (all.empty()) return "";
  std::sort(all.begin(), all.end());
  return fmt::format(
      "A rate counts as worse only if it fell by more than runs of one program differ: {:.1f}% for "
      "the median case, {:.1f}% for the noisiest.",
      all[all.size() / 2], all.back());
}

std::string comparison_benchmarks(const std::vector<ComparedCase>& cases) {
  struct Sum {
    std::string benchmark;
    bool fraction;
    double sum = 0, least = HUGE_VAL, most = -HUGE_VAL;
    int count = 0;
  };
  std::vector<Sum> sums;
  for (const ComparedCase& one : cases) {
    if (!one.percent && !one.difference) continue;
    const bool fraction = one.difference.has_value();
    auto found = std::find_if(sums.begin(), sums.end(), [&](const Sum& sum) {
      return sum.benchmark == one.id.benchmark && sum.fraction == fraction;
    });
    if (found == sums.end()) found = sums.insert(found, {one.id.benchmark, fraction});
    const double change = fraction ? *one.difference : *one.percent;
    found->sum += fraction ? change : std::log1p(change / 100);
    found->least = std::min(found->least, change);
    found->most = std::max(found->most, change);
    ++found->count;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Sum& one : sums) {
    const double mean = one.sum / one.count;
    const auto text = [&](double change) {
      return one.fraction ? fmt::format("{:+.2f}", change) : fmt::format("{:+.1f}%", change);
    };
    rows.push_back({one.benchmark, std::to_string(one.count),
                    text(one.fraction ? mean : 100 * std::expm1(mean)),
                    one.fraction ? "mean of the fractions" : "geometric mean of the rates",
                    text(one.least), text(one.most)});
  }
  if (rows.empty()) return "";
  return table({{"benchmark"},
                {"cases", Align::right},
                {"change", Align::right},
                {"as"},
                {"from", Align::right},
                {"to", Align::right}},
               rows, "  ");
}

std::string comparison_table(const std::vector<ComparedCase>& cases, bool all, std::size_t width) {
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
  Rows rows;
  for (const auto& [one, more] : lines_of(shown)) {
    std::string what = (several ? one->id.device + ": " : "") + case_text(one->id);
    if (more > 0) what += fmt::format(" and {} more {}", more, more == 1 ? "pair" : "pairs");
    rows.push_back({one->id.benchmark, one->id.engine, what, figure(one->base), figure(one->now),
                    change_text(*one), noise_text(*one), verdict_text(*one)});
  }
  return fitting(rows, width);
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
