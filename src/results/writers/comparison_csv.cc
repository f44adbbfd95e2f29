#include "results/writers/comparison_csv.h"

#include <nlohmann/json.hpp>

#include "results/writers/comparison_rate.h"
#include "results/writers/csv.h"

namespace duet {
namespace {

constexpr const char* kTimes[] = {"median", "ci_low", "ci_high", "n"};

bool is_measured(const Record* record) {
  return record != nullptr && outcome_of(*record) == Outcome::measured;
}

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
  const bool measured = is_measured(record);
  cells.emplace_back(record == nullptr ? "" : name(outcome_of(*record)));
  const bool rated = measured && (*record)["rates"].contains(rate);
  cells.push_back(rated ? (*record)["rates"][rate].dump() : "");
  for (const char* figure : kTimes) {
    cells.push_back(measured ? (*record)["seconds"][figure].dump() : "");
  }
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
      cells.push_back(number ? Record(*number).dump() : "");
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
