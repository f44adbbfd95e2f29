#include "results/telemetry_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace duet {
namespace {

struct Quantity {
  const char* key;
  double Telemetry::*value;
};

constexpr Quantity kQuantities[] = {{"watts", &Telemetry::watts},
                                    {"compute_mhz", &Telemetry::compute_mhz},
                                    {"memory_mhz", &Telemetry::memory_mhz},
                                    {"celsius", &Telemetry::celsius}};

}  // namespace

nlohmann::ordered_json telemetry_to_json(const std::vector<Telemetry>& readings) {
  nlohmann::ordered_json out;
  out["readings"] = readings.size();
  if (readings.empty()) return out;
  for (const auto& [key, member] : kQuantities) {
    double sum = 0, low = readings.front().*member, high = low;
    for (const Telemetry& reading : readings) {
      sum += reading.*member;
      low = std::min(low, reading.*member);
      high = std::max(high, reading.*member);
    }
    if (high <= 0) continue;
    const double mean = sum / static_cast<double>(readings.size());
    out[key] = {{"mean", mean}, {"min", low}, {"max", high}};
  }
  const Telemetry& last = readings.back();
  if (last.watts_limit > 0) out["watts_limit"] = last.watts_limit;
  const double joules = last.joules - readings.front().joules;
  if (joules > 0) out["joules"] = joules;
  auto throttle = nlohmann::ordered_json::array();
  for (const Telemetry& reading : readings) {
    const nlohmann::ordered_json reason = reading.throttle;
    const bool known = std::find(throttle.begin(), throttle.end(), reason) != throttle.end();
    if (!reading.throttle.empty() && !known) throttle.push_back(reason);
  }
  if (!throttle.empty()) out["throttle"] = throttle;
  return out;
}

}  // namespace duet
