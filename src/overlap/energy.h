// What overlapping costs in energy, and what the power cap leaves of it.
#pragma once

#include <optional>

namespace duet {

// A run of one kind, all devices together: mean of many in a row.
struct RunEnergy {
  double joules = 0;
  double seconds = 0;
};

struct OverlapDraw {
  RunEnergy together;       // of both sides: T
  RunEnergy compute;        // alone: G
  RunEnergy communication;  // alone, by the engine that runs together: C_e
  double idle_watts = 0;    // of all devices, contexts open and warm
  double watts_limit = 0;   // the power cap, of all devices; 0: not known
  double wire_bytes = 0;    // that one run of the collective moves between devices; 0: none
  double resolution = 0;    // by which share the joules may be off
};

struct OverlapEnergy {
  // Of the collective alone, above what the devices draw idle for as long.
  double transfer_joules = 0;
  // transfer_joules, and what both together draw beyond the GEMM alone, for 10^9 wire bytes. None
  // where nothing goes over a wire.
  std::optional<double> joules_per_gb, joules_per_gb_beside;
  // The time that both together take if they draw as much as apart, and never more than the cap:
  // (the GEMM's joules + transfer_joules) / cap. An estimate: a GEMM needs fewer joules at the
  // lower clock and voltage of a capped device. None where the cap is not known.
  std::optional<double> power_estimate_seconds;
};

OverlapEnergy overlap_energy(const OverlapDraw& draw);

}  // namespace duet
