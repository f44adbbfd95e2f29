// Whose GEMMs, collectives and copies a policy takes on a machine.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectives/open_sessions.h"
#include "gemm/engine.h"
#include "overlap/policy.h"
#include "overlap/side.h"

namespace duet {

// By name, for a kind of device, whether or not a machine has them.
struct OverlapEngineNames {
  std::string vendor;    // the library that users take by default: C
  std::string zero_cta;  // its copy-engine mode
  std::string gemm;      // makes the same call each time
};
OverlapEngineNames overlap_engine_names(const std::string& device_kind);

// Whose collective a policy takes on a kind of device; of a partition without its bound.
std::string overlap_engine(const OverlapPolicy& policy, const std::string& device_kind);

// The partitions that are tried where a policy names none: powers of two from 8 units, or what the
// device can split, to a quarter of all. Empty where it cannot.
std::vector<int> partition_sweep(const DeviceInfo& info);

class OverlapEngines {
 public:
  // For ranks on all devices of the machine, which must outlive it, in one process.
  explicit OverlapEngines(Machine& machine);

  Team& team() { return sessions_.team(); }
  GemmEngine& gemm();  // throws Unavailable where the device has none
  const std::string& vendor() const { return names_.vendor; }
  // Who runs a side where nobody chooses: of a collective the vendor, of a copy its executor.
  std::string usual(const OverlapSide& side) const;

  // Engines of a side other than the usual one that may be faster alone; the machine may lack them.
  std::vector<std::string> others(const OverlapSide& side) const;

  // Whose collective a policy takes; of a partition the default library with kernels of so many
  // units, where it can be bounded.
  std::string of(const OverlapPolicy& policy);
  // Who runs the side that communicates: a GEMM and a copy have one engine whatever the policy.
  std::string of(const OverlapPolicy& policy, const OverlapSide& communication);

  // Collectives of different numbers may run at once. Throws Unavailable where the machine has no
  // such engine, or the engine not such a collective.
  CollectiveSession& session(const std::string& name, const Collective& collective, bool in_place,
                             int number = 0);
  // After a failure ranks may have made different calls: what comes next opens anew.
  void close() { sessions_.close(); }

  // How many of the compute units a policy leaves to the GEMM; 0: all. Throws UsageError for a
  // partition of all of them, Unavailable where the devices have no partitions.
  int units_for_compute(const OverlapPolicy& policy) const;

 private:
  CollectiveEngine& engine(const std::string& name);

  Machine& machine_;
  OverlapEngineNames names_;
  GemmEngine* gemm_ = nullptr;
  std::string gemm_missing_;  // why there is none, from ":" on
  CollectiveEngines collectives_;
  std::map<std::string, std::unique_ptr<CollectiveEngine>> bounded_;  // outlive their sessions
  OpenSessions sessions_;
};

}  // namespace duet
