// The start gate: a flag that only grows.
#include "timing/start_gate.h"

#include <limits>

#include "core/error.h"

namespace duet {

StartGate::StartGate(Team& team)
    : team_(team), word_(team.device(0).allocate(sizeof(std::uint64_t), MemoryKind::pinned)) {
  const std::uint64_t zero = 0;
  team_.device(0).write(word_.span(), &zero);
}

void StartGate::hold(Rank&, Stream& stream) { stream.wait(flag_at(word_, 0), round_ + 1); }

void StartGate::release(Rank& rank, double deadline_seconds) {
  team_.barrier("all ranks to reach the start gate", deadline_seconds);
  if (rank.index == 0) team_.device(0).signal(flag_at(word_, 0), ++round_);
  team_.barrier("all ranks to pass the start gate", deadline_seconds);
}

void StartGate::open() noexcept {
  try {
    team_.device(0).signal(flag_at(word_, 0), std::numeric_limits<std::int64_t>::max());
  } catch (const std::exception&) {
    // The device is gone, and its streams with it.
  }
}

}  // namespace duet
