#include "overlap/energy.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"

namespace duet {
namespace {

// After work the clocks stay high for a while, so idle power is measured after this pause.
constexpr double kRestSeconds = 1;

}  // namespace

OverlapEnergy overlap_energy(const OverlapDraw& draw) {
  OverlapEnergy energy;
  const auto above_idle = [&draw](const RunEnergy& run) {
    return run.joules - draw.idle_watts * run.seconds;
  };
  energy.transfer_joules = above_idle(draw.communication);
  const double copy_joules = draw.copy ? above_idle(*draw.copy) : 0;
  if (draw.wire_bytes > 0) {
    const double gb = draw.wire_bytes / 1e9;
    energy.joules_per_gb = energy.transfer_joules / gb;
    energy.joules_per_gb_beside = (draw.together.joules - draw.compute.joules - copy_joules) / gb;
  }
  if (draw.watts_limit > 0) {
    energy.power_estimate_seconds =
        (draw.compute.joules + energy.transfer_joules + copy_joules) / draw.watts_limit;
  }
  return energy;
}

EnergyProbe::EnergyProbe(EnergySource source, double seconds, double deadline_seconds,
                         std::function<bool()> stop)
    : source_(std::move(source)),
      seconds_(seconds),
      deadline_seconds_(deadline_seconds),
      stop_(std::move(stop)) {}

AfterSamples EnergyProbe::take(const std::string& name) {
  if (!unavailable().empty()) return {};
  return [this, name](const RunAgain& again) {
    measure_idle();
    taken_[name] = power_draw(source_.counters, seconds_, deadline_seconds_, again);
  };
}

// Called between the samples and the energy of the first works, when the devices are warm.
void EnergyProbe::measure_idle() {
  if (idle_.watts > 0) return;
  const auto rest = [this]() -> Rerun {
    if (stop_ && stop_()) throw Interrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return {1, 0};
  };
  for (double rested = 0; rested < kRestSeconds; rested += 0.01) rest();
  idle_ = power_draw(source_.counters, seconds_, deadline_seconds_, rest);
}

const PowerDraw& EnergyProbe::taken(const std::string& name) const {
  const auto found = taken_.find(name);
  if (found == taken_.end()) throw BadArgument("energy of " + name + ": it was not taken");
  return found->second;
}

OverlapDraw EnergyProbe::draw(const std::string& together, const std::string& compute,
                              const std::string& communication, const std::string& copy) const {
  OverlapDraw all;
  all.idle_watts = idle_.watts;
  all.watts_limit = source_.watts_limit;
  all.resolution = idle_.resolution;
  const auto add = [&](const std::string& name, RunEnergy& run) {
    const PowerDraw& one = taken(name);
    run = {one.joules(idle_.watts), one.busy};
    all.resolution = std::max(all.resolution, one.resolution);
  };
  add(together, all.together);
  add(compute, all.compute);
  add(communication, all.communication);
  if (!copy.empty()) add(copy, all.copy.emplace());
  return all;
}

}  // namespace duet
