#include "collectives/tuning/thresholds.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/tuning/built_in_tuning.h"
#include "collectives/tuning/tuning_file.h"
#include "core/deadline.h"
#include "core/packets.h"
#include "core/units.h"

namespace duet {

TuningSetup tuning_setup(Machine& machine, int ranks, bool several_processes) {
  const std::string& model = machine.device(0).info().model;
  const bool simulated = machine.is_virtual();
  return {simulated ? machine.name() : model, ranks, several_processes, model, simulated};
}

std::string dma_from_text(std::uint64_t dma_from) {
  if (dma_from == 0) return "by dma at every size";
  if (dma_from == Thresholds::kNever) return "by kernel at every size";
  return fmt::format("by kernel below {}", format_bytes(dma_from));
}

std::string in_words(const TuningSetup& setup) {
  return fmt::format("{} x {} in {}", setup.ranks, setup.device,
                     setup.several_processes ? "several processes" : "one process");
}

std::uint64_t Thresholds::dma_from(CollectiveKind kind) const {
  const auto found = set_.find(kind);
  return found == set_.end() ? kNever : found->second;
}

bool may_be_packets(CollectiveKind kind, std::uint64_t bytes) {
  return bytes <= kMostDropInPackets &&
         std::find(kInPackets.begin(), kInPackets.end(), kind) != kInPackets.end();
}

bool may_be_chunks(CollectiveKind kind) {
  return std::find(kInChunks.begin(), kInChunks.end(), kind) != kInChunks.end();
}

void Thresholds::complete_from(const Thresholds& others) {
  set_.insert(others.set_.begin(), others.set_.end());
}

Thresholds team_thresholds(Team& team) {
  Processes* processes = team.processes();
  const bool first = processes == nullptr || processes->index() == 0;
  Thresholds found;
  team.together([&] {
    if (!first) return;
    const TuningSetup setup = tuning_setup(team.machine(), team.size(), processes != nullptr);
    found = TuningFile(TuningFile::usual_path()).thresholds(setup);
    found.complete_from(built_in_thresholds(setup));
  });
  if (processes == nullptr) return found;
  const std::string text =
      processes
          ->gather_all(first ? thresholds_text(found) : "",
                       "process 0 to say where auto changes over", kDefaultDeadlineSeconds)
          .front();
  return parse_thresholds(text, "what process 0 says of auto");
}

}  // namespace duet
