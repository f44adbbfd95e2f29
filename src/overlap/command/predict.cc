// `duet predict`: simulates the cases of a measured journal and compares the figures.
#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/interrupt.h"
#include "core/error.h"
#include "core/units.h"
#include "overlap/command/advice.h"
#include "overlap/prediction/prediction.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

std::string fraction(double value) { return std::isnan(value) ? "" : fmt::format("{:.2f}", value); }

std::string cases_text(const Prediction& prediction) {
  std::vector<std::vector<std::string>> rows;
  for (const PredictedCase& each : prediction.cases) {
    rows.push_back({each.scenario, name(each.policy), format_seconds(each.measured),
                    format_seconds(each.predicted), fmt::format("{:+.1f}%", 100 * each.error()),
                    fraction(each.measured_fraction), fraction(each.predicted_fraction)});
  }
  return table({{"scenario"},
                {"policy"},
                {"measured", Align::right},
                {"predicted", Align::right},
                {"error", Align::right},
                {"of ideal", Align::right},
                {"predicted", Align::right}},
               rows, "  ") +
         "\n";
}

std::string errors_text(const Prediction& prediction) {
  std::vector<std::vector<std::string>> rows;
  for (const PredictionError& each : prediction.errors()) {
    rows.push_back({each.policy, std::to_string(each.cases),
                    fmt::format("{:.1f}%", 100 * each.seconds),
                    fmt::format("{:.3f}", each.fraction)});
  }
  std::string text = "mean absolute errors:\n" + table({{"policy"},
                                                        {"cases", Align::right},
                                                        {"time", Align::right},
                                                        {"fraction of ideal", Align::right}},
                                                       rows, "  ");
  for (const std::string& each : prediction.missing) text += "not simulated: " + each + "\n";
  return text;
}

class PredictCommand : public Command {
 public:
  explicit PredictCommand(CLI::App& root)
      : Command(
            root.add_subcommand("predict",
                                "Simulate the cases of a journal of duet overlap and compare the "
                                "results with the measured ones")) {
    app_->add_option("JOURNAL", journal_, "Journal of duet overlap")
        ->required()
        ->check(not_empty());
    add_device_flags(*app_, devices_, "sim:h200-4");
    app_->add_flag("--quiet", quiet_, "Show the summary of errors only, not each case");
  }

  int run(const std::vector<std::string>&) override {
    require_one_process("predict");
    const std::vector<std::string> names = device_names(devices_);
    if (names.size() > 1) throw UsageError("predict: expected one machine in --device");
    const auto machines = open_machines({names.empty() ? "sim:h200-4" : names.front()});
    const Prediction prediction =
        predict(*machines.front(), rows_of(journal_).rows, [] { return interrupted(); });
    if (!quiet_) std::cout << cases_text(prediction);
    std::cout << errors_text(prediction);
    if (!prediction.cases.empty()) return 0;
    complain("nothing was simulated of " + journal_);
    return 1;
  }

 private:
  DeviceFlags devices_;
  std::string journal_;
  bool quiet_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(predict, PredictCommand)

}  // namespace duet
