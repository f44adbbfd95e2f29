// The energy that overlapping costs, and how long both sides take if the power cap limits them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "timing/energy_meter.h"
#include "timing/power_draw.h"

namespace duet {

// Energy and time of one run, summed over all devices; the mean of many runs in a row.
struct RunEnergy {
  double joules = 0;
  double seconds = 0;
};

// The measured energies of a scenario under one policy.
struct OverlapDraw {
  RunEnergy together;             // all works at once: T
  RunEnergy compute;              // the compute side alone: G
  RunEnergy communication;        // alone, by the engine that is used in `together`: C_e
  std::optional<RunEnergy> copy;  // alone, of scenarios that have one beside both
  double idle_watts = 0;          // idle power of all devices, with open contexts and warm
  double watts_limit = 0;         // sum of all devices' power caps; 0: not known
  double wire_bytes = 0;          // bytes that one run moves between devices; 0: none
  double resolution = 0;          // relative error of the joules
};

// The figures that follow from an OverlapDraw.
struct OverlapEnergy {
  // Energy of the communication alone, less the idle energy of the devices for the same time.
  double transfer_joules = 0;
  // Joules per 10^9 wire bytes; empty where no bytes go over a wire.
  // - joules_per_gb: transfer_joules;
  // - joules_per_gb_beside: the energy of all together less that of the compute side and of the
  // copy
  //   alone, the copy's less idle energy as above.
  std::optional<double> joules_per_gb, joules_per_gb_beside;
  // The time of all together if they need the same energy as apart and the power is at the cap:
  // (joules of the compute side + transfer_joules + those of the copy, likewise less idle energy) /
  // cap. This is an estimate: a GEMM needs fewer
  // joules at the lower clock and voltage of a capped device. Empty where the cap is not known.
  std::optional<double> power_estimate_seconds;
};

OverlapEnergy overlap_energy(const OverlapDraw& draw);

// Measures the energy of the works that OverlapRunner runs, on devices that count energy.
class EnergyProbe {
 public:
  // Every reading lasts at least `seconds`. `stop` is called while nothing runs; `true` ends the
  // reading.
  EnergyProbe(EnergySource source, double seconds, double deadline_seconds,
              std::function<bool()> stop);

  const std::string& unavailable() const { return source_.unavailable; }

  // A function for a sampler, which measures the energy of the sampler's works and keeps it under
  // `name`. Empty where energy cannot be measured.
  AfterSamples take(const std::string& name);

  // The energies that were kept under these names; `copy` "": there is none. Throws BadArgument for
  // an unknown name.
  OverlapDraw draw(const std::string& together, const std::string& compute,
                   const std::string& communication, const std::string& copy = "") const;

 private:
  const PowerDraw& taken(const std::string& name) const;
  void measure_idle();

  EnergySource source_;
  double seconds_, deadline_seconds_;
  std::function<bool()> stop_;
  std::map<std::string, PowerDraw> taken_;
  PowerDraw idle_;  // 0 W: not measured yet
};

}  // namespace duet
