#include "gemm/first_engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace duet {

void require_gemm_engine(const std::string& device_kind, const std::string& name) {
  const std::vector<std::string> known = gemm_engine_names_of(device_kind);
  if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(
      fmt::format("--gemm: unknown engine '{}': expected {}", name, fmt::join(known, ", ")));
}

GemmEngine& first_gemm_engine(Device& device, const std::string& name,
                              const std::vector<GemmProblem>& problems, const std::string& what) {
  std::string why = fmt::format("{} has no engine for GEMMs", device.info().name);
  const std::vector<std::string> wanted =
      name.empty() ? std::vector<std::string>{} : std::vector<std::string>{name};
  for (GemmEngine* const engine : gemm_engines(device.info().kind, wanted).engines) {
    if (!name.empty() && engine->name() != name) continue;
    std::optional<Skipped> skipped;
    for (const GemmProblem& problem : problems) {
      if (!skipped) skipped = engine->unsupported(device, problem);
    }
    if (!skipped) return *engine;
    why = fmt::format("{}: {}", engine->name(), skipped->reason);
  }
  throw Unavailable(what + ": " + why);
}

}  // namespace duet
