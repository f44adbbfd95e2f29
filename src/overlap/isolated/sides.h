#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "overlap/engines.h"
#include "overlap/peaks.h"
#include "timing/beside_sampler.h"
#include "timing/measurement.h"
#include "timing/sampler.h"

namespace duet {

struct IsolatedResult {
  Sampling sampling;
  Cost cost;
  std::string algorithm;
};

// Measures one side of a scenario alone, on all compute units of the device or on fewer.
class IsolatedRunner {
 public:
  // The parameters have the meaning that they have in OverlapRunner.
  IsolatedRunner(Machine& machine, const BesideMode& mode, std::function<bool()> stop);

  // Measure a side on `units` compute units (0: all). Of the collective engines only the vendor's
  // library can be limited to some units. They throw Unavailable for what the machine does not have
  // or cannot limit, and what the works throw.
  IsolatedResult compute(const GemmProblem& problem, int units);
  IsolatedResult communication(const Collective& collective, const std::string& engine, int units);

 private:
  Sampling alone(Work& work, const Placement& placement);
  std::string bounded(const std::string& engine, int units);

  Machine& machine_;
  BesideMode mode_;
  std::function<bool()> stop_;
  OverlapEngines engines_;
};

// Measures sides alone and computes the figures of their records (docs/overlap.md).
class IsolatedSides {
 public:
  // As IsolatedRunner. `peaks` decide whether a GEMM is bound by compute or by memory.
  IsolatedSides(Machine& machine, const BesideMode& mode, const DevicePeaks& peaks,
                const std::string& device_name, std::function<bool()> stop);

  CaseId compute_id(const GemmProblem& problem, int units) const;
  CaseId communication_id(const Collective& collective, const std::string& engine, int units) const;

  // Measure a side on `units` compute units (0: all). They throw what IsolatedRunner throws.
  Measurement compute(const GemmProblem& problem, int units);
  Measurement communication(const Collective& collective, const std::string& engine, int units);

  const OverlapEngineNames& engines() const { return names_; }
  Machine& machine() const { return machine_; }
  const std::string& device_name() const { return device_name_; }

 private:
  using Run = std::function<IsolatedResult(int units)>;

  Measurement measured(const CaseId& id, const IsolatedResult& result) const;
  double slowdown(const std::string& side, int units, double seconds, const Run& run);
  double latency(Collective collective, const std::string& engine);
  std::optional<double> device_flop_per_byte(DType dtype) const;

  Machine& machine_;
  DevicePeaks peaks_;
  std::string device_name_;
  OverlapEngineNames names_;
  IsolatedRunner runner_;
  std::map<std::string, double> whole_;  // median seconds on all units, by side
};

}  // namespace duet
