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

// Names of the engines for a kind of device. A machine need not have them.
struct OverlapEngineNames {
  std::string vendor;    // the vendor's collective library with its defaults, whose time is C
  std::string zero_cta;  // the copy-engine mode of that library
  std::string gemm;      // the GEMM engine; makes the same call in every iteration
};
OverlapEngineNames overlap_engine_names(const std::string& device_kind);

// The engine that runs a policy's collective on a kind of device. For a partition: the name without
// the limit of units.
std::string overlap_engine(const OverlapPolicy& policy, const std::string& device_kind);

// The numbers of units to try for a partition without a number: powers of two, from 8 units or the
// smallest partition that the device supports, to a quarter of all units. Empty where the device
// cannot be partitioned.
std::vector<int> partition_sweep(const DeviceInfo& info);

// Which ranks take part besides those of the machine, and how they reach each other over nodes
// (docs/nodes.md).
struct OverlapRanks {
  Processes* processes = nullptr;  // null: the machine's devices are all ranks
  int node_size = 0;               // as Team::set_node_size() takes it
  NetworkOptions network;
};

// The engines and sessions that overlaps on one machine use.
class OverlapEngines {
 public:
  // The ranks are all devices of the machine, and of the other processes' machines. The machine
  // must outlive this object. Collective among processes.
  explicit OverlapEngines(Machine& machine, const OverlapRanks& ranks = {});

  Team& team() { return sessions_.team(); }
  GemmEngine& gemm();  // throws Unavailable where the device has none
  const std::string& vendor() const { return names_.vendor; }
  // The default engine of a side: the vendor's library for a collective, the executor for a copy,
  // the GEMM engine for a GEMM.
  std::string usual(const OverlapSide& side) const;

  // Engines other than usual() that may run a side faster when it is alone. The machine need not
  // have them.
  std::vector<std::string> others(const OverlapSide& side) const;

  // The engine that runs a policy's collective. For a partition: the vendor's library with kernels
  // of at most that many units, where the library can be limited.
  std::string of(const OverlapPolicy& policy);
  // The engine that runs the communication side. GEMMs and copies have one engine for all policies.
  std::string of(const OverlapPolicy& policy, const OverlapSide& communication);

  // The session of an engine for a collective. Collectives of sessions with different numbers may
  // run concurrently. Throws Unavailable where the machine does not have the engine, or where the
  // engine cannot run the collective.
  CollectiveSession& session(const std::string& name, const Collective& collective, bool in_place,
                             int number = 0);
  // Called after a failure: the ranks may have made different calls, so all sessions are closed and
  // opened again when needed.
  void close() { sessions_.close(); }

  // The number of compute units that a policy leaves to the GEMM; 0: all. Throws UsageError for a
  // partition of all units, and Unavailable where the devices cannot be partitioned.
  int units_for_compute(const OverlapPolicy& policy) const;

 private:
  void find_engines();
  CollectiveEngine& engine(const std::string& name);

  Machine& machine_;
  OverlapEngineNames names_;
  GemmEngine* gemm_ = nullptr;
  std::string gemm_missing_;  // the end of the error message, from ":" on, if there is no engine
  CollectiveEngines collectives_;
  std::map<std::string, std::unique_ptr<CollectiveEngine>>
      bounded_;  // before sessions_: outlives them
  OpenSessions sessions_;
};

}  // namespace duet
