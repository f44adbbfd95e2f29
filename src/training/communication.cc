#include "training/communication.h"

#include <algorithm>

#include "training/cases.h"

namespace duet {

std::vector<Measurement> conclude_training(const std::vector<Finished>& finished) {
  std::vector<Measurement> results;
  for (const Finished& one : finished) {
    const auto sums = one.metrics.find("sums_seconds");
    if (sums == one.metrics.end()) continue;
    const auto without_sums = [&](const Finished& other) {
      return other.id.engine == kNoEngine && other.id.device == one.id.device &&
             other.id.axes == one.id.axes && other.median_seconds > 0;
    };
    const auto base = std::find_if(finished.begin(), finished.end(), without_sums);
    if (base == finished.end()) continue;
    const double exposed = one.median_seconds - base->median_seconds;
    Measurement result;
    result.id = one.id;
    result.id.benchmark = "train_communication";
    result.rates = {{"sums_seconds", sums->second},
                    {"exposed_seconds", exposed},
                    {"hidden_percent", 100 * (1 - exposed / sums->second)}};
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace duet
