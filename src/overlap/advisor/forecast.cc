#include "overlap/advisor/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  throw UsageError(fmt::format(
      "{}: there is neither a measurement nor a device spec of {}: expected a table made "
      "by duet advise --measure",
      table.device, what));
}

// The line through the smallest and the largest size. Below the smallest size: the smallest size's
// time. With a single size: proportional to the bytes, without latency.
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

// The entry's FLOP rate, scaled to another element type by the ratio of the peak rates; 0 where a
// peak rate is not known.
double Forecast::flop_rate(const GemmEntry& entry, DType dtype) const {
  const double rate = flop(entry.problem) / entry.seconds;
  if (entry.problem.dtype == dtype) return rate;
  const double its = promised(peaks_, entry.problem.dtype);
  return its > 0 ? rate * promised(peaks_, dtype) / its : 0;
}

double Forecast::flop_rate(DType dtype) const {
  double best = 0;
  for (const GemmEntry& each : table_.gemms) best = std::max(best, flop_rate(each, dtype));
  if (best <= 0) best = kUsualEfficiency * promised(peaks_, dtype);
  return require_rate(best, table_, fmt::format("its FLOP rate for {}", duet::name(dtype)));
}

// The highest memory rate of the table's GEMMs that are bound by memory. Without peak rates it is
// not known which GEMMs are; then all count, provided that there is more than one.
double Forecast::memory_rate() const {
  double best = 0;
  for (const GemmEntry& each : table_.gemms) {
    const double balance = peaks_.memory_bytes_per_s > 0
                               ? promised(peaks_, each.problem.dtype) / peaks_.memory_bytes_per_s
                               : 0;
    const bool tells =
        balance > 0 ? flop(each.problem) / bytes(each.problem) < balance : table_.gemms.size() > 1;
    if (tells) best = std::max(best, bytes(each.problem) / each.seconds);
  }
  if (best <= 0) best = kUsualEfficiency * peaks_.memory_bytes_per_s;
  return require_rate(best, table_, "its memory");
}

BoundClass Forecast::bound(const GemmProblem& problem) const {
  const double balance = flop_rate(problem.dtype) / memory_rate();
  return flop(problem) / bytes(problem) < balance ? BoundClass::memory : BoundClass::compute;
}

// The table's GEMM of the problem's class that is nearest in FLOP: long GEMMs run at different
// clocks than short ones.
const GemmEntry* Forecast::nearest(const GemmProblem& problem) const {
  const auto distance = [&problem](const GemmEntry& each) {
    return std::abs(std::log(flop(each.problem) / flop(problem)));
  };
  const BoundClass wanted = bound(problem);
  const GemmEntry* found = nullptr;
  for (const GemmEntry& each : table_.gemms) {
    if (bound(each.problem) != wanted || flop_rate(each, problem.dtype) <= 0) continue;
    if (found == nullptr || distance(each) < distance(*found)) found = &each;
  }
  return found;
}

double Forecast::compute(const GemmProblem& problem, int taken) const {
  const GemmEntry* like = nearest(problem);
  if (like == nullptr) {
    return std::max(flop(problem) / flop_rate(problem.dtype), bytes(problem) / memory_rate());
  }
  const double alone = bound(problem) == BoundClass::compute
                           ? flop(problem) / flop_rate(*like, problem.dtype)
                           : bytes(problem) * like->seconds / bytes(like->problem);
  return taken == 0 ? alone : alone * factor_at(like->taken, taken);
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
    const double rate = require_rate(kUsualEfficiency * peaks_.link_bytes_per_s, table_,
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
