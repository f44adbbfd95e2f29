#include "training/communication.h"

#include <algorithm>

#include "training/cases.h"

namespace duet {

std::vector<Measurement> conclude_training(const std::vector<Finished>& finished) {
  std::vector<Measurement> results;
  for (const Finished& one : finished) {
    const auto alone = one.metrics.find("communication_seconds");
    if (alone == one.metrics.end()) continue;
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
    result.rates = {{"communication_seconds", alone->second},
                    {"exposed_seconds", exposed},
                    {"hidden_percent", 100 * (1 - exposed / alone->second)}};
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace duet
