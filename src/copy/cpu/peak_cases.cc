// Where copies on the CPU are held against its peak.
#include "copy/cpu/peak_cases.h"

#include <algorithm>
#include <string>

#include "copy/cpu/peak.h"
#include "timing/sampler.h"

namespace duet {
namespace {

constexpr std::int64_t kBytes = 256 << 20;  // larger than the caches of most CPUs

bool held_against_peak(const Case& copy) {
  bool on_cpu = false, large = false;
  for (const auto& [axis, value] : copy.id.axes) {
    if (axis == "kind") {
      const auto& kind = std::get<std::string>(value);
      on_cpu = kind == name(CopyKind::local) || kind == name(CopyKind::peer);
    }
    if (axis == "bytes") large = std::get<std::int64_t>(value) >= kBytes;
  }
  return on_cpu && large;
}

Measurement measure(Machine& machine, const CaseId& id, int threads, const Mode& mode,
                    const std::function<bool()>& stop) {
  Measurement result;
  result.id = id;
  Team team(machine, {0});
  CopyPeakWork work(kBytes, threads);
  result.cost = work.cost();
  result.sampling = Sampler(team, stop).measure(work, mode);
  result.notes.emplace_back("loop", work.loop().name);
  return result;
}

}  // namespace

std::vector<Case> copy_peak_cases(Machine& machine, const CopyOptions& options,
                                  const std::vector<Case>& copies,
                                  const std::function<bool()>& stop) {
  std::vector<Case> cases;
  const DeviceInfo& info = machine.device(0).info();
  if (info.kind != "host") return cases;
  if (std::none_of(copies.begin(), copies.end(), held_against_peak)) return cases;
  for (Executor executor : options.executors) {
    const CaseId id{"copy_peak",
                    options.device_name,
                    "nt-copy",
                    {{"executor", std::string(name(executor))}, {"bytes", kBytes}}};
    // As many as the executor is on the CPU: all cores of the device, or one.
    const int threads = executor == Executor::kernel ? info.compute_units : 1;
    cases.push_back({id,
                     [&machine, id, threads, mode = options.mode, stop] {
                       return measure(machine, id, threads, mode, stop);
                     },
                     options.mode});
  }
  return cases;
}

}  // namespace duet
