#include "collectives/tuning/changeover.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace duet {
namespace {

constexpr double kLeastShareOfNccl = 0.98;
constexpr std::uint64_t kSmallCall = 8 << 10;

std::uint64_t rounded(double bytes) {
  const double unit = std::max(1.0, std::exp2(std::floor(std::log2(bytes))) / 8);
  return static_cast<std::uint64_t>(std::llround(bytes / unit) * std::llround(unit));
}

struct MeasuredCall {
  CollectiveKind kind;
  EngineTimes times;
  double nccl_seconds = 0;
  double drop_in_seconds = 0;
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
    if (one.id.engine == "nccl-duet") call.drop_in_seconds = one.median_seconds;
  }
  return calls;
}

using KeepsUp = std::map<CollectiveKind, std::map<std::uint64_t, bool>>;  // by size

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

bool compares_packets(const CaseId& id) {
  const auto kind = id.axes.text("collective");
  const auto bytes = id.axes.number("bytes");
  return (id.engine == "nccl" || id.engine == "nccl-duet") && kind && bytes &&
         may_be_packets(parse_collective(*kind), static_cast<std::uint64_t>(*bytes));
}

std::optional<Mode> packets_mode(const Mode& others) {
  if (others.kind != ModeKind::adaptive) return std::nullopt;
  constexpr int kSamples = 15;
  Mode mode = others;
  mode.kind = ModeKind::loop;
  mode.min_iterations = mode.max_iterations = std::min(kSamples, others.max_iterations);
  return mode;
}

std::vector<Finished> without_compared_packets(std::vector<Finished> finished) {
  const auto compares = [](const Finished& each) { return compares_packets(each.id); };
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
  KeepsUp by_copies, by_packets;
  for (const auto& [key, call] : calls_of(finished)) {
    if (call.nccl_seconds <= 0 || call.drop_in_seconds <= 0) continue;
    const std::uint64_t bytes = call.times.bytes;
    KeepsUp& keeps_up = may_be_packets(call.kind, bytes) ? by_packets : by_copies;
    bool& all = keeps_up[call.kind].emplace(bytes, true).first->second;
    all = all && call.nccl_seconds >= kLeastShareOfNccl * call.drop_in_seconds;
  }
  BesideNccl found;
  for (const auto& [kind, sizes] : by_copies) {
    std::uint64_t from = Thresholds::kNever;
    for (auto size = sizes.rbegin(); size != sizes.rend() && size->second; ++size) {
      from = size->first;
    }
    found.copies.set(kind, from);
  }
  for (const auto& [kind, sizes] : by_packets) {
    if (sizes.begin()->first > kSmallCall) continue;
    std::uint64_t& to = found.packets[kind];
    for (auto size = sizes.begin(); size != sizes.end() && size->second; ++size) to = size->first;
  }
  return found;
}

}  // namespace duet
