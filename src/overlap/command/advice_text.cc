#include <fmt/format.h>

#include "core/units.h"
#include "overlap/command/advice.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

constexpr const char* kTextIndent = "  ";

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

}  // namespace

std::string advice_text(const OverlapScenario& scenario, const DeviceTable& table,
                        const Advice& advice) {
  std::string text = fmt::format(
      "{} beside {} of {} on {} x {}\n", name(scenario.compute), name(scenario.communication),
      format_bytes(bytes_of(scenario.communication)), table.ranks, table.device);
  text += fmt::format("advised: {}, {} expected\n", name(advice.policy),
                      format_seconds(advice.seconds));
  text += fmt::format("because: {}\n\n", advice.why);
  std::vector<std::vector<std::string>> rows;
  for (const PolicyForecast& each : advice.forecasts) {
    rows.push_back({name(each.policy), each.engine, format_seconds(each.compute),
                    format_seconds(each.communication), fmt::format("{:.2f}", each.loss),
                    fmt::format("{:.2f}", each.slowdown), format_seconds(each.together),
                    std::to_string(each.units)});
  }
  return text + duet::table({{"policy"},
                             {"engine"},
                             {"GEMM", Align::right},
                             {"collective", Align::right},
                             {"loss", Align::right},
                             {"slowdown", Align::right},
                             {"together", Align::right},
                             {"units", Align::right}},
                            rows, kTextIndent);
}

std::string score_text(const Score& score) {
  std::vector<std::vector<std::string>> rows;
  for (const ScenarioScore& each : score.scenarios) {
    rows.push_back({each.scenario, each.advised, format_seconds(each.forecast_seconds),
                    format_seconds(each.advised_seconds), each.best,
                    format_seconds(each.best_seconds), percent(each.loss())});
  }
  return table({{"scenario"},
                {"advised"},
                {"forecast", Align::right},
                {"measured", Align::right},
                {"best"},
                {"measured", Align::right},
                {"loss", Align::right}},
               rows, kTextIndent) +
         fmt::format("\nright (within 1% of the best) in {} of {}, worst loss {}\n", score.right(),
                     score.scenarios.size(), percent(score.worst_loss()));
}

}  // namespace duet
