// Built-in thresholds, and those of a team.
#include "collectives/peer/thresholds.h"

#include <fmt/format.h>

#include "collectives/peer/tuning_file.h"

namespace duet {
namespace {

// On 4 x H200 an all-gather of 16 MiB takes 48 us by kernel and 58 us by copy engines, one of 64
// MiB 155 us and 159 us: as much as makes no difference to who also wants the compute units.
// All-to-all, gather, scatter and send_recv are much the same.
constexpr std::uint64_t kMovesDmaFrom = 64 << 20;

// Bus bandwidth on 4 x H200 at 64 MiB, 256 MiB, 1 GiB and 4 GiB of an all_reduce by kernel: 303,
// 316, 319, 323 GB/s; where copy engines spread what it has reduced: 306, 342, 355, 359. Of a
// reduce_scatter by kernel: 293, 318, 326, 327, by copy engines 215, 300, 343, 352.
constexpr std::uint64_t kAllReduceDmaFrom = 64 << 20;
constexpr std::uint64_t kReduceScatterDmaFrom = 512 << 20;

// A kernel broadcasts 64 MiB on 4 x H200 in 407 us; the pipeline of copy engines has been measured
// on simulated machines alone.
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
