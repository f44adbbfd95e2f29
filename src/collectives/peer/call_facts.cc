#include "collectives/peer/call_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "collectives/engine.h"
#include "collectives/partition.h"
#include "collectives/schedule/local_copy.h"
#include "core/error.h"

namespace duet {

std::string CallFacts::text() const {
  return fmt::format("{:d} {:d} {:d} {} {} {}", swaps, adds, wants_to_add, shift, units, algorithm);
}

CallFacts CallFacts::of(const std::string& text) {
  std::istringstream in(text);
  CallFacts facts;
  in >> facts.swaps >> facts.adds >> facts.wants_to_add >> facts.shift >> facts.units >>
      facts.algorithm;
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
  if (reduces(collective.kind)) {
    const std::uint64_t begin = reduced_part(collective, rank.index, rank.size).begin;
    const auto at = reinterpret_cast<std::uintptr_t>(buffers.send.data) + begin;
    facts.shift = static_cast<int>(at % kVectorBytes);
  }
  facts.units = rank.device.info().compute_units;
  facts.algorithm = choice_text();
  return facts;
}

AlgorithmInput algorithm_input(const Rank& rank, const Collective& collective,
                               const CollectiveBuffers& buffers, CopyLanes copying,
                               const std::vector<CallFacts>& facts) {
  AlgorithmInput input{collective, rank.index, rank.size, copying};
  input.in_place = in_place(buffers);
  input.aligned_alike = own_part_aligned(collective, rank.index, rank.size, buffers);
  std::vector<std::string> choices;
  for (const CallFacts& theirs : facts) choices.push_back(theirs.algorithm);
  expect_same_choice(choices);
  for (const CallFacts& theirs : facts) {
    input.any_swaps = input.any_swaps || theirs.swaps;
    input.all_add = input.all_add && theirs.adds;
    input.shifts.push_back(theirs.shift);
    input.units = std::min(input.units, theirs.units);
  }
  return input;
}

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
