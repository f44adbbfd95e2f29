// What two works gain from running at the same time, in the terms of the ConCCL paper
// (docs/overlap.md).
#pragma once

#include <optional>
#include <string_view>

namespace duet {

// Seconds, medians. Every figure is with all ranks running, the slowest rank's.
struct OverlapTimes {
  double compute = 0;        // alone: G
  double communication = 0;  // alone, by the vendor's library with its defaults: C
  double together = 0;       // from the start to the end of the later side: T
  // Of the sides while both run.
  double compute_beside = 0, communication_beside = 0;
  // The least that each side takes alone: over the partitions that were measured, and over the
  // engines.
  double least_compute = 0, least_communication = 0;
  // Alone, by the engine that runs together: C_e.
  double engine = 0;
};

struct OverlapMetrics {
  double speedup = 0;                 // (G + C) / T
  double ideal_speedup = 0;           // (G + C) / max(G, C)
  double bound = 0;                   // max of the least of both sides, over T
  double compute_slowdown = 0;        // beside the other, over G
  double communication_slowdown = 0;  // beside the other, over C_e
  // (speedup - 1) / (ideal speedup - 1): 1 where the shorter side costs nothing, 0 where both take
  // as long as one after the other; over 1 where an engine beats the vendor's. None where one side
  // takes no time.
  std::optional<double> fraction_of_ideal;
};

// Throws BadArgument for a time that is not above 0, but for what a side alone may lack.
OverlapMetrics overlap_metrics(const OverlapTimes& times);

// Which side is longer by more than 15%, alone.
enum class Balance { g_long, c_long, gc_equal };
Balance balance(double compute, double communication);
std::string_view name(Balance balance);  // "G-long", "C-long", "GC-equal"

}  // namespace duet
