#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "fleet/judge.h"
#include "soak/summary.h"
#include "timing/statistics.h"

namespace duet {
namespace {

// Standard deviation of a rate between GPUs and runs in order, as a share.
constexpr double kUsualDeviation = 0.01;

using RatesOfDevice = std::vector<double>;

// By product and model: the logarithms of each device's rates.
std::map<std::pair<std::string, std::string>, std::vector<RatesOfDevice>> rates_of(
    const SoakReport& report) {
  std::map<std::pair<std::string, std::string>, std::vector<RatesOfDevice>> rates;
  for (const SoakRound& round : report.rounds) {
    for (std::size_t i = 0; i < round.tflops.size() && i < report.models.size(); ++i) {
      auto& devices = rates[{round.product, report.models[i]}];
      devices.resize(report.devices.size());
      if (round.tflops[i] > 0) devices[i].push_back(std::log(round.tflops[i]));
    }
  }
  return rates;
}

// The median, and by how much it may be off.
FleetSample sample_of(int figure, int place, RatesOfDevice rates) {
  constexpr double kLowDeviation = 0.159;  // of a normal distribution, one deviation below
  std::sort(rates.begin(), rates.end());
  const double middle = quantile(rates, 0.5);
  const double deviation = middle - quantile(rates, kLowDeviation);
  return {figure, place, middle, kUsualDeviation,
          deviation / std::sqrt(static_cast<double>(rates.size()))};
}

FleetSamples samples_of(const SoakReport& report) {
  FleetSamples samples;
  const int node = samples.node("");
  for (const auto& [key, devices] : rates_of(report)) {
    const std::string text = key.first + " " + key.second;
    const int figure = samples.figure(text, {"product", text, "tflops"});
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].empty()) continue;
      const int place = samples.place({samples.unit(node, report.devices[i])});
      samples.add(sample_of(figure, place, devices[i]));
    }
  }
  return samples;
}

}  // namespace

std::vector<RoundFinding> slow_devices(const SoakReport& report) {
  std::vector<RoundFinding> slow;
  if (report.slow_below <= 0) return slow;
  const FleetSamples samples = samples_of(report);
  for (const FleetSuspect& suspect : judge_fleet(samples, {}).suspects) {
    if (suspect.level != FleetLevel::unit || suspect.sureness == Sureness::possible) continue;
    const FleetEvidence& strongest = suspect.evidence.front();
    slow.push_back(
        {0,
         {SoakFault::slow, samples.units().at(static_cast<std::size_t>(suspect.item)).name,
          fmt::format("{:.1f}% slower than the other devices in {} of {} products ({})",
                      100 * strongest.loss, strongest.slow, strongest.figures,
                      name(suspect.sureness))}});
  }
  return slow;
}

}  // namespace duet
