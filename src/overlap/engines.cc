#include "overlap/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"

namespace duet {

OverlapEngineNames overlap_engine_names(const std::string& device_kind) {
  static const std::map<std::string, OverlapEngineNames> names = {
      {"cuda", {"nccl", "nccl-zero-cta", "cublas"}},
      {"hip", {"rccl", "rccl-zero-cta", "rocblas"}},
      {"sim", {"vendor-model", "zero-cta", "model"}},
      {"host", {"kernel", "zero-cta", "onednn"}}};
  const auto found = names.find(device_kind);
  if (found != names.end()) return found->second;
  throw UsageError(
      fmt::format("a device of kind '{}': expected cuda, hip, host or sim", device_kind));
}

std::string overlap_engine(const OverlapPolicy& policy, const std::string& device_kind) {
  if (by_dma(policy.kind)) return "dma";
  const OverlapEngineNames names = overlap_engine_names(device_kind);
  return policy.kind == OverlapPolicyKind::zero_cta ? names.zero_cta : names.vendor;
}

std::vector<int> partition_sweep(const DeviceInfo& info) {
  constexpr int kLeast = 8;  // the smallest partition in the ConCCL paper, in compute units
  std::vector<int> sweep;
  if (info.unit_grain == 0) return sweep;
  for (int units = std::max(kLeast, info.unit_grain); units <= info.compute_units / 4; units *= 2) {
    sweep.push_back(units);
  }
  return sweep;
}

OverlapEngines::OverlapEngines(Machine& machine, const OverlapRanks& ranks)
    : machine_(machine),
      names_(overlap_engine_names(machine.device(0).info().kind)),
      sessions_(machine, ranks.processes, ranks.node_size, ranks.network) {
  team().together([this] { find_engines(); });
}

void OverlapEngines::find_engines() {
  const std::string kind = machine_.device(0).info().kind;
  collectives_ = collective_engines(kind, {names_.vendor, names_.zero_cta});
  const GemmEngines found = gemm_engines(kind, {names_.gemm});
  for (GemmEngine* each : found.engines) {
    if (each->name() == names_.gemm) gemm_ = each;
  }
  for (const auto& [name, reason] : found.unavailable) gemm_missing_ += fmt::format(": {}", reason);
}

GemmEngine& OverlapEngines::gemm() {
  if (gemm_ != nullptr) return *gemm_;
  throw Unavailable(
      fmt::format("overlap: {} has no engine for GEMMs{}", machine_.name(), gemm_missing_));
}

CollectiveEngine& OverlapEngines::engine(const std::string& name) {
  const auto bounded = bounded_.find(name);
  if (bounded != bounded_.end()) return *bounded->second;
  for (CollectiveEngine* each : collectives_.engines) {
    if (each->name() == name) return *each;
  }
  throw Unavailable(fmt::format("overlap: {} has no collectives by {}", machine_.name(), name));
}

CollectiveSession& OverlapEngines::session(const std::string& name, const Collective& collective,
                                           bool in_place, int number) {
  CollectiveSession& session = sessions_.session(engine(name), number);
  if (const auto skipped = session.unsupported(collective, in_place)) {
    throw Unavailable(skipped->reason);
  }
  return session;
}

std::string OverlapEngines::of(const OverlapPolicy& policy) {
  const std::string whole = overlap_engine(policy, machine_.device(0).info().kind);
  if (policy.units == 0 || by_dma(policy.kind)) return whole;
  std::unique_ptr<CollectiveEngine> made = engine(whole).limited(policy.units);
  if (made == nullptr) return whole;
  const std::string name = made->name();
  bounded_.emplace(name, std::move(made));
  return name;
}

std::string OverlapEngines::of(const OverlapPolicy& policy, const OverlapSide& communication) {
  return std::holds_alternative<CollectiveSide>(communication) ? of(policy) : usual(communication);
}

std::string OverlapEngines::usual(const OverlapSide& side) const {
  if (std::holds_alternative<GemmProblem>(side)) return names_.gemm;
  const auto* copy = std::get_if<CopySide>(&side);
  return copy != nullptr ? std::string(name(copy->executor)) : names_.vendor;
}

std::vector<std::string> OverlapEngines::others(const OverlapSide& side) const {
  if (!std::holds_alternative<CollectiveSide>(side)) return {};
  return {"dma", names_.zero_cta};
}

int OverlapEngines::units_for_compute(const OverlapPolicy& policy) const {
  if (!has_partition(policy.kind)) return 0;
  const DeviceInfo& info = machine_.device(0).info();
  if (info.unit_grain == 0) {
    throw Unavailable(fmt::format("{}: {} cannot restrict a stream to some of its compute units",
                                  name(policy), info.name));
  }
  if (policy.units < info.compute_units) return info.compute_units - policy.units;
  throw UsageError(fmt::format("{}: expected fewer than the {} compute units of {}", name(policy),
                               info.compute_units, info.name));
}

}  // namespace duet
