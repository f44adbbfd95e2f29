#include "collectives/tuning/drop_in_tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/packets.h"
#include "core/units.h"

namespace duet {
namespace {

std::optional<std::uint64_t> copies_from(const std::vector<BesideNccl>& measured,
                                         CollectiveKind kind) {
  std::optional<std::uint64_t> from;
  for (const BesideNccl& each : measured) {
    if (each.copies.all().count(kind) == 0) continue;
    from = std::max(from.value_or(0), each.copies.dma_from(kind));
  }
  return from == Thresholds::kNever ? std::nullopt : from;
}

std::uint64_t packets_to(const std::vector<BesideNccl>& measured) {
  std::uint64_t to = kMostDropInPackets;
  for (const BesideNccl& each : measured) {
    for (const CollectiveKind kind : kInPackets) {
      const auto found = each.packets.find(kind);
      to = std::min(to, found == each.packets.end() ? 0 : found->second);
    }
  }
  return to - to % kDropInPacketUnit;
}

std::uint64_t kernel_to(const std::vector<BesideNccl>& measured, CollectiveKind kind,
                        std::uint64_t packets) {
  const std::uint64_t from = may_be_packets(kind, 0) ? packets : 0;
  std::uint64_t to = Thresholds::kNever;
  for (const BesideNccl& each : measured) {
    const auto found = each.kernel.find(kind);
    if (found == each.kernel.end() || found->second.above > from) return 0;
    to = std::min(to, found->second.to);
  }
  return to <= from ? 0 : to;
}

std::string size_or_never(std::optional<std::uint64_t> bytes) {
  const bool never = !bytes || *bytes == Thresholds::kNever;
  return fmt::format("\"{}\"", never ? "never" : short_bytes(*bytes));
}

}  // namespace

DropInThresholds drop_in_thresholds(const std::vector<BesideNccl>& measured, bool with_packets) {
  DropInThresholds found;
  if (measured.empty()) return found;
  if (with_packets) found.packets_to = packets_to(measured);
  for (std::size_t i = 0; i < kDropInCalls.size(); ++i) {
    found.copies_from[i] = copies_from(measured, parse_collective(kDropInCalls[i]));
  }
  for (std::size_t i = 0; i < kDropInChunkCalls; ++i) {
    found.kernel_to[i] = kernel_to(measured, parse_collective(kDropInCalls[i]), found.packets_to);
  }
  return found;
}

std::string tuning_row(int ranks, const std::string& source, const Thresholds& dma_from,
                       const Thresholds& measured, const DropInThresholds& beside_nccl) {
  std::string text =
      fmt::format("[[row]]\nranks = {}\nsource = \"{}\"\n\n[row.dma_from]\n", ranks, source);
  for (const CollectiveKind kind : all_collectives()) {
    const bool is_measured = measured.all().count(kind) > 0;
    text += fmt::format("{} = {}{}\n", name(kind), size_or_never(dma_from.dma_from(kind)),
                        is_measured ? "" : "  # not measured: as built in");
  }
  text += fmt::format(
      "\n[row.beside_nccl]\nmodels = [\"{}\"]\nsource = \"{}\"\npackets_to = {}\n"
      "\n[row.beside_nccl.copies_from]\n",
      fmt::join(beside_nccl.models, "\", \""), source,
      size_or_never(beside_nccl.packets_to > 0 ? std::optional(beside_nccl.packets_to)
                                               : std::nullopt));
  for (std::size_t i = 0; i < kDropInCalls.size(); ++i) {
    text += fmt::format("{} = {}\n", kDropInCalls[i], size_or_never(beside_nccl.copies_from[i]));
  }
  text += "\n[row.beside_nccl.kernel_to]\n";
  for (std::size_t i = 0; i < kDropInChunkCalls; ++i) {
    const std::uint64_t to = beside_nccl.kernel_to[i];
    text += fmt::format("{} = {}\n", kDropInCalls[i],
                        size_or_never(to > 0 ? std::optional(to) : std::nullopt));
  }
  return text;
}

}  // namespace duet
