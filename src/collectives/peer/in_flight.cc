#include "collectives/peer/in_flight.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectives/partition.h"
#include "core/error.h"

namespace duet {

Reductions chosen_reductions() {
  const char* const value = std::getenv("DUET_REDUCTIONS");
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty() || text == "auto") return Reductions::automatic;
  if (text == "slots") return Reductions::slots;
  if (text == "in-flight") return Reductions::in_flight;
  throw UsageError(fmt::format("DUET_REDUCTIONS={}: expected auto, slots or in-flight", text));
}

bool can_add(const Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
  const bool exact = rank.size == 2 || c.dtype == DType::fp32 || c.dtype == DType::int32;
  if (rank.size < 2 || !reduces(c.kind) || c.op != Reduction::sum || !exact) return false;
  const auto send = reinterpret_cast<std::uintptr_t>(buffers.send.data);
  const auto recv = reinterpret_cast<std::uintptr_t>(buffers.recv.data);
  const std::uintptr_t to = recv + reduced_target(c, rank.index, rank.size);
  const std::uintptr_t from = reduced_part(c, rank.index, rank.size).begin;
  return rank.device.adds_in_flight() && send % kVectorBytes == 0 &&
         (to - from) % kVectorBytes == 0;
}

}  // namespace duet
