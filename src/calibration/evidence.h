#pragma once

#include <string>
#include <vector>

#include "collectives/collective.h"
#include "gemm/problem.h"
#include "results/journal.h"

namespace duet {

// One measured case; seconds are medians.
struct GemmTime {
  GemmProblem problem;
  int units = 0;  // 0: all
  double seconds = 0;
  double megahertz = 0;  // clock of the units during the case; 0: not known
};
struct CollectiveTime {
  CollectiveKind kind = CollectiveKind::all_gather;
  std::string engine;
  std::uint64_t bytes = 0;
  int ranks = 0;
  int units = 0;  // units granted to it; 0: as many as the engine takes
  double seconds = 0;
};
struct CopyTime {
  std::string kind, executor, issue;  // "peer", "dma", "push"
  std::uint64_t bytes = 0;
  double seconds = 0;
};

struct Evidence {
  std::string model;  // of the device
  int devices = 0;
  int compute_units = 0;
  double full_megahertz = 0;  // 0: not known
  double idle_watts = 0;      // of a device; 0: not known
  double cap_watts = 0;       // likewise
  std::vector<GemmTime> gemms;
  std::vector<CollectiveTime> collectives;
  std::vector<CopyTime> copies;  // one way, of one pair
  double dma_joules = 0;         // per byte, above idle; 0: not known
  double kernel_joules = 0;      // likewise
};

// Adds the measurements of one journal of `duet overlap --isolated`, `duet overlap --energy`, `duet
// collective` or `duet copy`. From works that ran concurrently it takes only the energy of each
// work alone. Throws UsageError, naming the journal, if it is of another device than the evidence
// so far.
void add_evidence(Evidence& evidence, const std::string& journal,
                  const std::vector<JournalRun>& runs);

}  // namespace duet
