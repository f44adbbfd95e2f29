// Built-in thresholds, and those of a team.
#include "collectives/peer/thresholds.h"

#include <fmt/format.h>

#include "collectives/peer/tuning_file.h"

namespace duet {
namespace {

// On 4 x H200 an all-gather of 16 MiB takes 49 us by kernel and 59 us by copy engines, one of 64
// MiB 157 and 159, one of 256 MiB 588 and 545. All-to-all, gather, scatter and send_recv are much
// the same.
constexpr std::uint64_t kMovesDmaFrom = 72 << 20;

// There too, in us by kernel and by copy engines: an all_reduce of 64 MiB 320 and 340, of 256 MiB
// 1197 and 1184, of 1 GiB 4758 and 4427; a reduce_scatter of 256 MiB 624 and 674, of 1 GiB 2456 and
// 2356.
constexpr std::uint64_t kAllReduceDmaFrom = 160 << 20;
constexpr std::uint64_t kReduceScatterDmaFrom = 512 << 20;

// And a broadcast of 256 MiB 798 and 983, of 4 GiB 11806 and 12165.
constexpr std::uint64_t kBroadcastDmaFrom = Thresholds::kNever;

constexpr double kGatherSeconds = 60;

}  // namespace

TuningSetup tuning_setup(Machine& machine, int ranks, bool several_processes) {
  const std::string& model = machine.device(0).info().model;
  return {machine.is_virtual() ? machine.name() : model, ranks, several_processes};
}

std::string in_words(const TuningSetup& setup) {
  return fmt::format("{} x {} in {}", setup.ranks, setup.device,
                     setup.several_processes ? "several processes" : "one process");
}

std::uint64_t Thresholds::built_in(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return kAllReduceDmaFrom;
    case CollectiveKind::reduce_scatter:
      return kReduceScatterDmaFrom;
    case CollectiveKind::broadcast:
      return kBroadcastDmaFrom;
    default:
      return kMovesDmaFrom;
  }
}

std::uint64_t Thresholds::dma_from(CollectiveKind kind) const {
  const auto found = measured_.find(kind);
  return found == measured_.end() ? built_in(kind) : found->second;
}

Thresholds team_thresholds(Team& team) {
  Processes* processes = team.processes();
  const bool first = processes == nullptr || processes->index() == 0;
  Thresholds found;
  team.together([&] {
    if (!first) return;
    found = TuningFile(TuningFile::usual_path())
                .thresholds(tuning_setup(team.machine(), team.size(), processes != nullptr));
  });
  if (processes == nullptr) return found;
  const std::string text =
      processes
          ->gather_all(first ? thresholds_text(found) : "",
                       "process 0 to say where auto changes over", kGatherSeconds)
          .front();
  return parse_thresholds(text, "what process 0 says of auto");
}

}  // namespace duet
