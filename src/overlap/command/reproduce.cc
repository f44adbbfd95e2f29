// `duet reproduce`: the figures of a study beside simulated or measured ones of the same scenarios.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "core/error.h"
#include "device/machine.h"
#include "device/sim/platform.h"
#include "device/sim/platform_text.h"
#include "overlap/runner.h"
#include "overlap/study.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

constexpr double kNear = 0.05;         // of ideal, between a study's mean and one's own
constexpr double kNearSpeedup = 0.15;  // between mean ideal speedups
constexpr double kVaried = 0.2;        // of a fitted figure

using Scenarios = std::vector<OverlapScenario>;

std::vector<std::string> policies_of(const Study& study) {
  std::vector<std::string> all;
  for (const StudyFigure& figure : study.figures) {
    for (const auto* list : {&figure.policies, &figure.memory_bound_policies}) {
      for (const std::string& each : *list) {
        if (std::find(all.begin(), all.end(), each) == all.end()) all.push_back(each);
      }
    }
  }
  return all;
}

std::vector<StudyOutcome> outcomes_of(const Study& study, Machine& machine,
                                      const Scenarios& scenarios) {
  OverlapRuns runs;
  if (machine.is_virtual()) runs.mode.iterations = 1;
  runs.sweep = partition_sweep(machine.device(0).info());
  OverlapRunner runner(machine, runs, [] { return interrupted(); });
  std::vector<StudyOutcome> all;
  for (const OverlapScenario& scenario : scenarios) {
    StudyOutcome outcome;
    outcome.scenario = scenario.name;
    outcome.collective = name(scenario.communication);
    for (const std::string& policy : policies_of(study)) {
      if (interrupted()) throw Interrupted();
      const OverlapResult result = runner.run(scenario, parse_policies(policy).front());
      outcome.balance = name(result.balance);
      outcome.ideal_speedup = result.metrics.ideal_speedup;
      if (result.metrics.fraction_of_ideal) {
        outcome.fraction[policy] = *result.metrics.fraction_of_ideal;
      }
    }
    all.push_back(std::move(outcome));
  }
  return all;
}

bool overlap(const FractionRange& a, const FractionRange& b) {
  return a.low <= b.high && b.low <= a.high;
}

std::string text(const std::map<std::string, FractionRange>& ranges, const std::string& of) {
  const auto found = ranges.find(of);
  if (found == ranges.end()) return "";
  return fmt::format("{:.2f} to {:.2f}", found->second.low, found->second.high);
}

bool is_near(const StudyRow& row) {
  bool near = std::abs(row.mean - row.reported.mean) <= kNear;
  for (const auto& [collective, range] : row.reported.ranges) {
    const auto own = row.ranges.find(collective);
    near &= own != row.ranges.end() && overlap(range, own->second);
  }
  return near;
}

// Prints the figures and returns whether all are near the study's.
bool print_figures(const Study& study, const std::vector<StudyOutcome>& outcomes,
                   const std::string& here) {
  std::vector<std::vector<std::string>> cells;
  bool near = true;
  for (const StudyRow& row : beside_study(study, outcomes)) {
    near &= is_near(row);
    cells.push_back({row.reported.name, row.policies, fmt::format("{:.2f}", row.reported.mean),
                     fmt::format("{:.2f}", row.mean), text(row.reported.ranges, "all_gather"),
                     text(row.ranges, "all_gather"), text(row.reported.ranges, "all_to_all"),
                     text(row.ranges, "all_to_all")});
  }
  near &= cells.size() == study.figures.size();
  double ideal = 0;
  for (const StudyOutcome& one : outcomes) ideal += one.ideal_speedup / double(outcomes.size());
  const int classes = classes_as_reported(study, outcomes);
  near &= std::abs(ideal - study.ideal_speedup) <= kNearSpeedup &&
          classes == static_cast<int>(outcomes.size());
  std::cout << fmt::format("Fraction of ideal: {} on {} x {}, and {}\n{}\n\n", study.name,
                           study.ranks, study.device, here, study.source);
  std::cout << table({{study.name},
                      {"policy"},
                      {"mean", Align::right},
                      {"here", Align::right},
                      {"all_gather", Align::right},
                      {"here", Align::right},
                      {"all_to_all", Align::right},
                      {"here", Align::right}},
                     cells, "  ");
  std::cout << fmt::format(
      "\nmean ideal speedup {:.2f} ({} reported); classes as reported in {} of {} scenarios\n",
      ideal, study.ideal_speedup, classes, outcomes.size());
  return near;
}

// A platform in a file of its own while one of its figures is varied.
class VariedPlatform {
 public:
  VariedPlatform(sim::PlatformText platform, const std::string& key, double value)
      : path_(std::filesystem::temp_directory_path() / "duet-XXXXXX.toml") {
    const int file = mkstemps(path_.data(), static_cast<int>(std::strlen(".toml")));
    if (file < 0) throw Error(path_ + " cannot be made: " + std::strerror(errno));
    close(file);
    platform.set(key, value, "varied");
    std::ofstream(path_) << platform.text();
  }
  ~VariedPlatform() { unlink(path_.c_str()); }
  VariedPlatform(const VariedPlatform&) = delete;
  VariedPlatform& operator=(const VariedPlatform&) = delete;
  std::string machine() const { return "sim:" + path_; }

 private:
  std::string path_;
};

// The changes of means, in points of ideal, and the scenarios that leave their class.
class Sensitivity {
 public:
  Sensitivity(const Study& study, const std::vector<StudyOutcome>& usual)
      : study_(study), usual_(beside_study(study, usual)) {}

  void add(const std::string& figure, double value, const std::vector<StudyOutcome>& less,
           const std::vector<StudyOutcome>& more) {
    std::vector<std::string> row{figure, fmt::format("{}", value)};
    const auto low = beside_study(study_, less), high = beside_study(study_, more);
    for (std::size_t i = 0; i < usual_.size(); ++i) {
      row.push_back(fmt::format("{:+.1f} / {:+.1f}", 100 * (low.at(i).mean - usual_[i].mean),
                                100 * (high.at(i).mean - usual_[i].mean)));
    }
    const auto left = [this](const std::vector<StudyOutcome>& all) {
      return static_cast<int>(all.size()) - classes_as_reported(study_, all);
    };
    row.push_back(fmt::format("{} / {}", left(less), left(more)));
    rows_.push_back(std::move(row));
  }

  std::string text() const {
    std::vector<Column> columns{{"fitted figure"}, {"value", Align::right}};
    for (const StudyRow& row : usual_) columns.push_back({row.reported.name, Align::right});
    columns.push_back({"classes", Align::right});
    return "\nPoints by which the means move if a fitted figure moves by -20% / +20%, and "
           "scenarios that leave their class:\n" +
           table(columns, rows_, "  ");
  }

 private:
  const Study& study_;
  std::vector<StudyRow> usual_;
  std::vector<std::vector<std::string>> rows_;
};

void vary_platform(Sensitivity& sensitivity, const Study& study, const Scenarios& scenarios,
                   const std::string& platform) {
  const sim::PlatformText text(sim::platform_toml(platform));
  const auto with = [&](const std::string& key, double value) {
    const VariedPlatform varied(text, key, value);
    return outcomes_of(study, *open_machine(varied.machine()), scenarios);
  };
  for (const sim::PlatformText::Figure& figure : text.figures()) {
    if (figure.comment.rfind("fitted", 0) != 0) continue;
    const bool share = figure.key.find("efficiency") != std::string::npos;
    const double most = share ? 1 : std::numeric_limits<double>::infinity();
    sensitivity.add(figure.key, figure.value, with(figure.key, (1 - kVaried) * figure.value),
                    with(figure.key, std::min(most, (1 + kVaried) * figure.value)));
  }
}

// What is fitted of scenarios, by GEMM.
void vary_scenarios(Sensitivity& sensitivity, const Study& study, const Scenarios& scenarios,
                    Machine& machine) {
  std::map<std::string, double> fitted;
  for (const OverlapScenario& each : scenarios) {
    const FittedTraffic* own = fitted_traffic(each, machine);
    if (own != nullptr) fitted[name(each.compute)] = own->traffic;
  }
  for (const auto& [gemm, traffic] : fitted) {
    const auto with = [&, &of = gemm](double factor) {
      Scenarios varied = scenarios;
      for (OverlapScenario& each : varied) {
        if (name(each.compute) != of) continue;
        for (FittedTraffic& one : each.fitted) one.traffic *= factor;
      }
      return outcomes_of(study, machine, varied);
    };
    sensitivity.add("traffic of " + gemm, traffic, with(1 - kVaried), with(1 + kVaried));
  }
}

class ReproduceCommand : public Command {
 public:
  explicit ReproduceCommand(CLI::App& root)
      : Command(root.add_subcommand("reproduce",
                                    "Print a study's figures of overlap beside those of a machine, "
                                    "and fail where they are not near")) {
    app_->add_option("STUDY", study_, "conccl, the default: the ConCCL paper")->check(not_empty());
    add_device_flags(*app_, devices_, "sim:mi300x-8");
    app_->add_flag("--sensitivity", sensitivity_,
                   "Also vary each fitted figure of the simulated machine by 20%");
    offer(*app_, "STUDY", [] {
      Words keys;
      for (const Study& study : studies()) keys.push_back(study.key);
      return keys;
    });
  }

  int run(const std::vector<std::string>&) override {
    require_one_process("reproduce");
    const Study& study = find_study(study_);
    const std::vector<std::string> names = device_names(devices_);
    if (names.size() > 1) throw UsageError("reproduce: expected one machine in --device");
    const std::string device = names.empty() ? "sim:mi300x-8" : names.front();
    const auto machines = open_machines({device});
    Machine& machine = *machines.front();
    if (machine.size() < 2) {
      throw UsageError("reproduce: " + machine.name() + ": expected two devices or more");
    }
    if (sensitivity_ && !machine.is_virtual()) {
      throw UsageError("--sensitivity: expected a simulated machine, as sim:mi300x-8");
    }
    if (sensitivity_ && machine.name().find(':', 4) != std::string::npos) {
      throw UsageError("--sensitivity: expected a platform without options, as sim:mi300x-8");
    }
    const Scenarios scenarios = scenario_set(study.scenarios);
    catch_interrupts(true);
    const auto outcomes = outcomes_of(study, machine, scenarios);
    const bool near =
        print_figures(study, outcomes,
                      (machine.is_virtual() ? "simulated on " : "measured on ") + machine.name());
    if (sensitivity_) {
      Sensitivity sensitivity(study, outcomes);
      vary_platform(sensitivity, study, scenarios, machine.name().substr(4));
      vary_scenarios(sensitivity, study, scenarios, machine);
      std::cout << sensitivity.text();
    }
    return near ? 0 : 1;
  }

 private:
  DeviceFlags devices_;
  std::string study_ = "conccl";
  bool sensitivity_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(reproduce, ReproduceCommand)

}  // namespace duet
