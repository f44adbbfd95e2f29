#include "results/compare.h"
#include "results/writers/comparison.h"
#include "results/writers/csv.h"

namespace duet {
namespace {

std::vector<std::string> header(const std::vector<std::string>& axes) {
  std::vector<std::string> cells = {"benchmark", "device", "engine"};
  cells.insert(cells.end(), axes.begin(), axes.end());
  cells.insert(cells.end(), {"verdict", "change_percent", "noise_percent", "difference",
                             "difference_noise", "one_sample", "reason", "rate"});
  for (const std::string side : {"base_", "new_"}) {
    for (const char* what :
         {"runs", "outcome", "rate", "median_seconds", "ci_low_seconds", "ci_high_seconds", "n"}) {
      cells.push_back(side + what);
    }
  }
  return cells;
}

void add_side(std::vector<std::string>& cells, const Record* record, const std::string& rate) {
  cells.emplace_back(record == nullptr ? "" : name(record->outcome));
  if (record == nullptr || record->outcome != Outcome::measured) {
    cells.insert(cells.end(), 5, "");
    return;
  }
  const double* value = record->rates.find(rate);
  cells.push_back(value == nullptr ? "" : number_text(*value));
  const Seconds& seconds = record->seconds;
  for (const double time : {seconds.median, seconds.ci_low, seconds.ci_high}) {
    cells.push_back(number_text(time));
  }
  cells.push_back(std::to_string(seconds.n));
}

}  // namespace

std::string comparison_csv(const std::vector<ComparedCase>& cases) {
  std::vector<std::string> axes;
  for (const ComparedCase& one : cases) add_axes(axes, one.id);
  std::string text = csv_line(header(axes));
  for (const ComparedCase& one : cases) {
    std::vector<std::string> cells = csv_case(axes, one.id);
    const std::string rate = comparison_rate(one);
    cells.emplace_back(name(one.change));
    for (const auto& number : {one.percent, one.noise, one.difference, one.difference_noise}) {
      cells.push_back(number ? number_text(*number) : "");
    }
    cells.insert(cells.end(), {one.one_sample ? "true" : "false", one.reason, rate});
    cells.push_back(std::to_string(one.base_runs));
    add_side(cells, one.base, rate);
    cells.push_back(std::to_string(one.now_runs));
    add_side(cells, one.now, rate);
    text += csv_line(cells);
  }
  return text;
}

}  // namespace duet
