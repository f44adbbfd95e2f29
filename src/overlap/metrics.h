// Metrics of works that run at the same time, in the terms of the ConCCL paper
// (docs/overlap.md).
#pragma once

#include <optional>
#include <string_view>

namespace duet {

// Median times in seconds. All ranks run; each time is that of the slowest rank.
struct OverlapTimes {
  double compute = 0;        // alone: G
  double communication = 0;  // alone, by the vendor's library with its defaults: C
  double together = 0;       // from the start to the end of the later side: T
  // Time of each side while both run.
  double compute_beside = 0, communication_beside = 0;
  // The shortest time of each side alone: of compute over the measured partitions, of communication
  // over the engines.
  double least_compute = 0, least_communication = 0;
  // Communication alone, by the engine that is used in `together`: C_e.
  double engine = 0;
  // Of a copy beside both, alone and while all run; 0: there is none.
  double copy = 0, copy_beside = 0;
};

struct OverlapMetrics {
  // With a copy beside both, its time counts as G and C do.
  double speedup = 0;                   // (G + C) / T
  double ideal_speedup = 0;             // (G + C) / max(G, C)
  double bound = 0;                     // max(least_compute, least_communication) / T
  double compute_slowdown = 0;          // compute_beside / G
  double communication_slowdown = 0;    // communication_beside / C_e
  std::optional<double> copy_slowdown;  // copy_beside / copy
  // (speedup - 1) / (ideal_speedup - 1). 1: the shorter side costs no time. 0: both take as long as
  // one after the other. Above 1: the engine is faster than the vendor's. Empty where one side
  // takes no time.
  std::optional<double> fraction_of_ideal;
};

// Throws BadArgument unless G, C and T are above 0.
OverlapMetrics overlap_metrics(const OverlapTimes& times);

// Which side takes more than 15% longer than the other when each runs alone.
enum class Balance { g_long, c_long, gc_equal };
Balance balance(double compute, double communication);
std::string_view name(Balance balance);  // "G-long", "C-long", "GC-equal"

}  // namespace duet
