#include "collectives/tuning/changeover.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/packets.h"

namespace duet {
namespace {

constexpr double kLeastShare = 0.98;
constexpr std::uint64_t kSmallCall = 8 << 10;

std::uint64_t rounded(double bytes) {
  const double unit = std::max(1.0, std::exp2(std::floor(std::log2(bytes))) / 8);
  return static_cast<std::uint64_t>(std::llround(bytes / unit) * std::llround(unit));
}

struct MeasuredCall {
  CollectiveKind kind;
  EngineTimes times;
  double nccl_seconds = 0;
  double drop_in_seconds = 0;  // by packets or copies
  double chunks_seconds = 0;   // by the drop-in's kernel
};

// Times grouped by call; the cases of one call differ in their engine only.
std::map<std::string, MeasuredCall> calls_of(const std::vector<Finished>& finished) {
  std::map<std::string, MeasuredCall> calls;
  for (const Finished& one : finished) {
    const auto kind = one.id.axes.text("collective");
    const auto bytes = one.id.axes.number("bytes");
    if (one.id.benchmark != "collective" || !kind || !bytes) continue;
    MeasuredCall& call = calls[one.id.axes.key()];
    call.kind = parse_collective(*kind);
    call.times.bytes = static_cast<std::uint64_t>(*bytes);
    if (one.id.engine == "kernel") call.times.kernel_seconds = one.median_seconds;
    if (one.id.engine == "dma") call.times.dma_seconds = one.median_seconds;
    if (one.id.engine == "nccl") call.nccl_seconds = one.median_seconds;
    if (one.id.engine == kDropInEngine) call.drop_in_seconds = one.median_seconds;
    if (one.id.engine == kDropInKernelEngine) call.chunks_seconds = one.median_seconds;
  }
  return calls;
}

using Calls = std::vector<MeasuredCall>;
using CallsBySize = std::map<std::uint64_t, Calls>;

// Whether one way is fast enough beside another in all calls in which both were measured.
bool reaches(const Calls& calls, double MeasuredCall::*own, double MeasuredCall::*other) {
  return std::all_of(calls.begin(), calls.end(), [=](const MeasuredCall& call) {
    return call.*own <= 0 || call.*other <= 0 || call.*other >= kLeastShare * call.*own;
  });
}

bool is_kernel_fast(const Calls& calls) {
  const auto is_measured = [](const MeasuredCall& call) { return call.chunks_seconds > 0; };
  return std::all_of(calls.begin(), calls.end(), is_measured) &&
         reaches(calls, &MeasuredCall::chunks_seconds, &MeasuredCall::nccl_seconds);
}

// Whether packets or copies are fast enough: beside the kernel where it is in `kernel`.
bool is_drop_in_fast(const Calls& calls, const SizeRange& kernel) {
  const std::uint64_t bytes = calls.front().times.bytes;
  const bool beside_kernel = bytes > kernel.above && bytes <= kernel.to;
  return reaches(calls, &MeasuredCall::drop_in_seconds, &MeasuredCall::nccl_seconds) &&
         (!beside_kernel ||
          reaches(calls, &MeasuredCall::drop_in_seconds, &MeasuredCall::chunks_seconds));
}

// Of sizes that may be packets.
std::uint64_t packets_to(const CallsBySize& sizes, CollectiveKind kind, const SizeRange& kernel) {
  std::uint64_t to = 0;
  for (const auto& [bytes, calls] : sizes) {
    if (!may_be_packets(kind, bytes) || !is_drop_in_fast(calls, kernel)) break;
    to = bytes;
  }
  return to;
}

// Kept from copies, as one size is measured in one way: sizes that may be packets.
std::optional<std::uint64_t> copies_from(const CallsBySize& sizes, CollectiveKind kind,
                                         const SizeRange& kernel) {
  std::optional<std::uint64_t> from;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    if (may_be_packets(kind, size->first)) break;
    if (!from) from = Thresholds::kNever;
    if (!is_drop_in_fast(size->second, kernel)) break;
    from = size->first;
  }
  return from;
}

SizeRange kernel_sizes(const CallsBySize& sizes, std::uint64_t packets) {
  auto first = sizes.upper_bound(packets);
  if (first == sizes.end()) --first;
  if (!is_kernel_fast(first->second)) return {};
  auto last = first;
  for (auto next = std::next(last); next != sizes.end() && is_kernel_fast(next->second); ++next) {
    last = next;
  }
  while (first != sizes.begin() && is_kernel_fast(std::prev(first)->second)) --first;
  if (first != sizes.begin()) return {std::prev(first)->first, last->first};
  return {first->first <= kSmallCall ? 0 : first->first - 1, last->first};
}

}  // namespace

std::uint64_t changeover(const std::vector<EngineTimes>& times) {
  const auto kernel_wins = [](const EngineTimes& t) { return t.kernel_seconds < t.dma_seconds; };
  const auto last = std::find_if(times.rbegin(), times.rend(), kernel_wins);
  if (last == times.rend()) return 0;
  if (last == times.rbegin()) return Thresholds::kNever;
  const EngineTimes &below = *last, &above = *(last - 1);
  const double lead = std::log(below.dma_seconds / below.kernel_seconds);
  const double lag = std::log(above.kernel_seconds / above.dma_seconds);
  const double steps =
      std::log(static_cast<double>(above.bytes) / static_cast<double>(below.bytes));
  const double bytes = static_cast<double>(below.bytes) * std::exp(steps * lead / (lead + lag));
  return std::clamp(rounded(bytes), below.bytes + 1, above.bytes);
}

bool compares_small_calls(const CaseId& id) {
  const auto kind = id.axes.text("collective");
  const auto bytes = id.axes.number("bytes");
  const bool is_of_nccl =
      id.engine == "nccl" || id.engine == kDropInEngine || id.engine == kDropInKernelEngine;
  return is_of_nccl && kind && bytes && may_be_chunks(parse_collective(*kind)) &&
         static_cast<std::uint64_t>(*bytes) <= kMostDropInPackets;
}

std::optional<Mode> small_calls_mode(const Mode& others) {
  if (others.kind != ModeKind::adaptive) return std::nullopt;
  constexpr int kSamples = 15;
  Mode mode = others;
  mode.kind = ModeKind::loop;
  mode.min_iterations = mode.max_iterations = std::min(kSamples, others.max_iterations);
  return mode;
}

std::vector<Finished> without_compared_small_calls(std::vector<Finished> finished) {
  const auto compares = [](const Finished& each) { return compares_small_calls(each.id); };
  finished.erase(std::remove_if(finished.begin(), finished.end(), compares), finished.end());
  return finished;
}

Thresholds changeovers(const std::vector<Finished>& finished) {
  std::map<CollectiveKind, std::map<std::uint64_t, EngineTimes>> curves;
  for (const auto& [key, call] : calls_of(finished)) {
    if (call.times.kernel_seconds <= 0 || call.times.dma_seconds <= 0) continue;
    EngineTimes& sum = curves[call.kind][call.times.bytes];
    sum.bytes = call.times.bytes;
    sum.kernel_seconds += call.times.kernel_seconds;
    sum.dma_seconds += call.times.dma_seconds;
  }
  Thresholds found;
  for (const auto& [kind, curve] : curves) {
    std::vector<EngineTimes> times;
    for (const auto& [bytes, each] : curve) times.push_back(each);
    found.set(kind, changeover(times));
  }
  return found;
}

BesideNccl beside_nccl(const std::vector<Finished>& finished) {
  std::map<CollectiveKind, CallsBySize> measured;
  std::set<CollectiveKind> by_kernel;
  for (const auto& [key, call] : calls_of(finished)) {
    if (call.nccl_seconds <= 0 || call.drop_in_seconds <= 0) continue;
    measured[call.kind][call.times.bytes].push_back(call);
    if (call.chunks_seconds > 0) by_kernel.insert(call.kind);
  }
  BesideNccl found;
  for (const auto& [kind, sizes] : measured) {
    const std::uint64_t smallest = sizes.begin()->first;
    SizeRange kernel;
    if (by_kernel.count(kind) > 0) {
      kernel = kernel_sizes(sizes, packets_to(sizes, kind, {}));
      found.kernel[kind] = kernel;
    }
    if (const auto from = copies_from(sizes, kind, kernel)) found.copies.set(kind, *from);
    if (smallest <= kSmallCall && may_be_packets(kind, smallest)) {
      found.packets[kind] = packets_to(sizes, kind, kernel);
    }
  }
  return found;
}

}  // namespace duet
