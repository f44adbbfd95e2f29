// From which size on the engine `auto` leaves a collective to copy engines: measured on a machine,
// or built in.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "collectives/collective.h"
#include "team/team.h"

namespace duet {

// For what thresholds are measured. The first three say where they were; the others, which built-in
// table is nearest where nothing was.
struct TuningSetup {
  std::string device;              // the model; of a simulated machine its name, "sim:mi300x-8"
  int ranks = 0;                   // of all processes
  bool several_processes = false;  // does the run have more than one?
  std::string model{};             // of a simulated machine's devices too
  bool simulated = false;

  bool operator==(const TuningSetup& other) const {
    return device == other.device && ranks == other.ranks &&
           several_processes == other.several_processes;
  }
};

TuningSetup tuning_setup(Machine& machine, int ranks, bool several_processes);

// "8 x AMD Instinct MI300X in one process".
std::string in_words(const TuningSetup& setup);

class Thresholds {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  // From this size_bytes() on copy engines; kNever: at no size, or it was not set.
  std::uint64_t dma_from(CollectiveKind kind) const;

  void set(CollectiveKind kind, std::uint64_t dma_from) { set_[kind] = dma_from; }
  // Takes what this has not set from `others`.
  void complete_from(const Thresholds& others);
  const std::map<CollectiveKind, std::uint64_t>& all() const { return set_; }

 private:
  std::map<CollectiveKind, std::uint64_t> set_;
};

// What holds for the team's ranks, by process 0's tuning file and what is built in for its devices,
// for every collective: all ranks choose alike. Called by all processes, outside of Team::each().
// Throws UsageError for a damaged file, in all of them.
Thresholds team_thresholds(Team& team);

}  // namespace duet
