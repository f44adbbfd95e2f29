#include "timing/energy_source.h"

#include "core/error.h"

namespace duet {
namespace {

double watts_limit_of(Team& team) {
  double sum = 0;
  for (int local = 0; local < team.local_size(); ++local) {
    const auto telemetry = team.local_rank(local).device.telemetry();
    if (!telemetry || telemetry->watts_limit <= 0) return 0;
    sum += telemetry->watts_limit;
  }
  return sum;
}

}  // namespace

EnergySource energy_source(Team& team) {
  EnergySource source;
  try {
    source.counters = energy_counters(team);
    source.watts_limit = watts_limit_of(team);
  } catch (const Unavailable& error) {
    source.unavailable = error.what();
  }
  return source;
}

}  // namespace duet
