// Rooflines and lines.
#include "overlap/forecast.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace duet {
namespace {

constexpr double kNearBest = 1.02;

double promised(const DevicePeaks& peaks, DType dtype) {
  const auto found = peaks.flop_per_s.find(dtype);
  return found == peaks.flop_per_s.end() ? 0 : found->second;
}

double require_rate(double rate, const DeviceTable& table, const std::string& what) {
  if (rate > 0) return rate;
  throw UsageError(fmt::format("{}: nothing is measured or promised of {}: expected a table made "
                               "by duet advise --measure",
                               table.device, what));
}

// Through the smallest and the largest size; below the smallest its time, or what a bandwidth
// without latency gives of a single one.
double along_line(const std::vector<SizeTime>& times, double bytes) {
  const SizeTime& small = times.front();
  const SizeTime& large = times.back();
  if (times.size() < 2) return large.seconds * bytes / static_cast<double>(large.bytes);
  if (bytes <= static_cast<double>(small.bytes)) return small.seconds;
  const double slope =
      (large.seconds - small.seconds) / static_cast<double>(large.bytes - small.bytes);
  return small.seconds + slope * (bytes - static_cast<double>(small.bytes));
}

}  // namespace

const char* name(BoundClass bound) {
  return bound == BoundClass::compute ? "compute-bound" : "memory-bound";
}

// A rate for one type tells of another by what is promised of both.
double Forecast::flop_rate(DType dtype) const {
  double best = 0;
  for (const GemmEntry& each : table_.gemms) {
    if (each.seconds <= 0) continue;
    const double mine = promised(peaks_, dtype), its = promised(peaks_, each.problem.dtype);
    const bool scales = mine > 0 && its > 0;
    if (each.problem.dtype != dtype && !scales) continue;
    best = std::max(best, flop(each.problem) / each.seconds * (scales ? mine / its : 1));
  }
  if (best <= 0) best = kUsualEfficiency * promised(peaks_, dtype);
  return require_rate(best, table_, fmt::format("its FLOP rate for {}", duet::name(dtype)));
}

double Forecast::memory_rate() const {
  double best = 0;
  for (const GemmEntry& each : table_.gemms) {
    if (each.seconds > 0) best = std::max(best, bytes(each.problem) / each.seconds);
  }
  // One GEMM alone is not bound by memory: its rate tells nothing of it.
  if (table_.gemms.size() < 2) best = kUsualEfficiency * peaks_.memory_bytes_per_s;
  return require_rate(best, table_, "its memory");
}

BoundClass Forecast::bound(const GemmProblem& problem) const {
  const double balance = flop_rate(problem.dtype) / memory_rate();
  return flop(problem) / bytes(problem) < balance ? BoundClass::memory : BoundClass::compute;
}

double Forecast::compute(const GemmProblem& problem, int taken) const {
  const double alone =
      std::max(flop(problem) / flop_rate(problem.dtype), bytes(problem) / memory_rate());
  if (taken == 0) return alone;
  const BoundClass mine = bound(problem);
  for (const GemmEntry& each : table_.gemms) {
    if (bound(each.problem) == mine) return alone * factor_at(each.taken, taken);
  }
  return alone;
}

const CollectiveEntry* Forecast::entry(CollectiveKind kind, const std::string& engine) const {
  for (const CollectiveEntry& each : table_.collectives) {
    if (each.collective == kind && each.engine == engine && !each.times.empty()) return &each;
  }
  return nullptr;
}

double Forecast::communication(CollectiveKind kind, std::uint64_t bytes, const std::string& engine,
                               int granted) const {
  const auto size = static_cast<double>(bytes);
  const CollectiveEntry* found = entry(kind, engine);
  if (found == nullptr) {
    const double rate =
        require_rate(kUsualEfficiency * peaks_.link_bytes_per_s, table_,
                     fmt::format("{} by {}", duet::name(kind), engine));
    return size * bus_factor(kind, table_.ranks) / rate;
  }
  const double alone = along_line(found->times, size);
  return granted == 0 ? alone : alone * factor_at(found->granted, granted);
}

int Forecast::units_needed(CollectiveKind kind, const std::string& engine) const {
  const CollectiveEntry* found = entry(kind, engine);
  if (found == nullptr || found->granted.empty()) return table_.compute_units;
  for (const UnitFactor& each : found->granted) {
    if (each.factor <= kNearBest) return each.units;
  }
  return found->granted.back().units;
}

}  // namespace duet
