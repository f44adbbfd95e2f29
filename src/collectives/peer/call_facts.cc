#include "collectives/peer/call_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "collectives/partition.h"
#include "collectives/peer/in_flight.h"
#include "collectives/planning.h"
#include "collectives/schedule/local_copy.h"
#include "core/error.h"
#include "device/collective_kernel.h"

namespace duet {
namespace {

bool is_aligned(const Span& span, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(span.data) % bytes == 0;
}

bool own_part_aligned(const Rank& rank, const Collective& collective,
                      const CollectiveBuffers& buffers) {
  if (reduces(collective.kind)) {
    const ByteRange own = reduced_part(collective, rank.index, rank.size);
    const std::uint64_t target = reduced_target(collective, rank.index, rank.size);
    return aligned_alike(buffers.recv.slice(target, own.bytes),
                         buffers.send.slice(own.begin, own.bytes));
  }
  for (const Move& move : moves_from(collective, rank.index, rank.size)) {
    if (move.to == rank.index && !aligned_alike(buffers.recv.slice(move.to_offset, move.bytes),
                                                buffers.send.slice(move.from_offset, move.bytes)))
      return false;
  }
  return true;
}

}  // namespace

std::string CallFacts::text() const {
  return fmt::format("{:d} {:d} {:d} {:d} {} {} {}", swaps, adds, wants_to_add, aligned, shift,
                     units, algorithm);
}

CallFacts CallFacts::of(const std::string& text) {
  std::istringstream in(text);
  CallFacts facts;
  in >> facts.swaps >> facts.adds >> facts.wants_to_add >> facts.aligned >> facts.shift >>
      facts.units >> facts.algorithm;
  return facts;
}

std::vector<CallFacts> CallFacts::of_all(const std::vector<std::string>& texts) {
  std::vector<CallFacts> all;
  for (const std::string& text : texts) all.push_back(of(text));
  return all;
}

CallFacts call_facts(const Rank& rank, const Collective& collective,
                     const CollectiveBuffers& buffers, bool wants_to_add) {
  CallFacts facts;
  facts.swaps = collective.kind == CollectiveKind::all_to_all && in_place(buffers);
  facts.adds = can_add(rank, collective, buffers);
  facts.wants_to_add = wants_to_add;
  facts.aligned =
      is_aligned(buffers.send, kPacketDataBytes) && is_aligned(buffers.recv, kPacketDataBytes);
  if (reduces(collective.kind)) {
    const std::uint64_t begin = reduced_part(collective, rank.index, rank.size).begin;
    const auto at = reinterpret_cast<std::uintptr_t>(buffers.send.data) + begin;
    facts.shift = static_cast<int>(at % kVectorBytes);
  }
  facts.units = rank.device.info().compute_units;
  const Algorithm* const chosen = chosen_algorithm();
  if (chosen != nullptr) facts.algorithm = chosen->name;
  return facts;
}

AlgorithmInput algorithm_input(const Rank& rank, const Collective& collective,
                               const CollectiveBuffers& buffers, CopyLanes copying,
                               const std::vector<CallFacts>& facts) {
  AlgorithmInput input{collective, rank.index, rank.size, copying};
  input.in_place = in_place(buffers);
  input.aligned_alike = own_part_aligned(rank, collective, buffers);
  for (const CallFacts& theirs : facts) {
    if (theirs.algorithm != facts.front().algorithm) {
      throw BadArgument(fmt::format("DUET_ALGORITHM: expected the same on all ranks, not {} and {}",
                                    facts.front().algorithm, theirs.algorithm));
    }
    input.any_swaps = input.any_swaps || theirs.swaps;
    input.all_add = input.all_add && theirs.adds;
    input.all_aligned = input.all_aligned && theirs.aligned;
    input.shifts.push_back(theirs.shift);
    input.units = std::min(input.units, theirs.units);
  }
  return input;
}

}  // namespace duet
