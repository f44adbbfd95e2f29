#include "copy/cpu/peak_cases.h"

#include <algorithm>
#include <string>

#include "copy/cpu/peak.h"
#include "timing/sampler.h"

namespace duet {
namespace {

constexpr std::uint64_t kLeastBytes = 256 << 20;

bool held_against_peak(const Case& copy, std::int64_t bytes) {
  return copy.id.axes.text("kind") == name(CopyKind::local) &&
         copy.id.axes.number("bytes").value_or(0) >= bytes;
}

Measurement measure(Machine& machine, const CaseId& id, int threads,
                    const std::function<bool()>& stop) {
  Measurement result;
  result.id = id;
  Team team(machine, {0});
  const auto bytes = static_cast<std::uint64_t>(copy_peak_bytes(machine.device(0).info()));
  CopyPeakWork work(bytes, threads);
  result.cost = work.cost();
  result.sampling = Sampler(team, stop).measure(work, Mode());
  result.notes.emplace_back("loop", work.loop().name);
  return result;
}

}  // namespace

// A multiple of CopyLoop::kStep.
std::int64_t copy_peak_bytes(const DeviceInfo& info) {
  const std::uint64_t bytes = std::max(kLeastBytes, 4 * info.cache_bytes);
  return static_cast<std::int64_t>(bytes / CopyLoop::kStep * CopyLoop::kStep);
}

std::optional<std::uint64_t> size_beyond_cache(const DeviceInfo& info,
                                               const std::vector<std::uint64_t>& sizes) {
  if (!info.is_cpu) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(copy_peak_bytes(info));
  if (4 * bytes > info.memory_bytes) return std::nullopt;
  const auto reaches = [bytes](std::uint64_t size) { return size >= bytes; };
  if (std::any_of(sizes.begin(), sizes.end(), reaches)) return std::nullopt;
  return bytes;
}

Case copy_peak_case(Machine& machine, const std::string& device_name, Executor executor,
                    const std::function<bool()>& stop) {
  const DeviceInfo& info = machine.device(0).info();
  const CaseId id{"copy_peak",
                  device_name,
                  "nt-copy",
                  {{"executor", std::string(name(executor))}, {"bytes", copy_peak_bytes(info)}}};
  const int threads = executor == Executor::kernel ? info.compute_units : 1;
  return {id, [&machine, id, threads, stop] { return measure(machine, id, threads, stop); },
          Mode()};
}

std::vector<Case> copy_peak_cases(Machine& machine, const CopyOptions& options,
                                  const std::vector<Case>& copies,
                                  const std::function<bool()>& stop) {
  std::vector<Case> cases;
  const DeviceInfo& info = machine.device(0).info();
  if (!info.is_cpu) return cases;
  const std::int64_t bytes = copy_peak_bytes(info);
  const auto held = [bytes](const Case& copy) { return held_against_peak(copy, bytes); };
  if (std::none_of(copies.begin(), copies.end(), held)) return cases;
  for (Executor executor : options.executors) {
    cases.push_back(copy_peak_case(machine, options.device_name, executor, stop));
  }
  return cases;
}

}  // namespace duet
