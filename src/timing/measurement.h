// A case is one point of a benchmark's axes; a measurement is its result. Workloads make both;
// src/results writes them, and computes rates from cost and samples.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "timing/axes.h"
#include "timing/beside_sampler.h"
#include "timing/sampler.h"

namespace duet {

struct CaseId {
  std::string benchmark;  // "gemm", "copy"
  std::string device;     // "cuda:0", "sim:mi300x-8"
  std::string engine;     // the implementation: "cublaslt-tuned"
  Axes axes;
};

// When the works of the last overlap iteration ran on one rank, in seconds since its first began.
struct RankTimeline {
  WorkSpan compute, communication;
  std::optional<WorkSpan> also = {};  // of a third work
};

struct Measurement {
  CaseId id;
  std::optional<Sampling> sampling;  // none: skipped, or derived from other measurements
  Cost cost;                         // of one sample
  std::vector<std::pair<std::string, double>> rates;       // those that do not follow from the cost
  std::vector<std::pair<std::string, double>> metrics;     // figures that are no rates, as ratios
  std::vector<std::pair<std::string, std::string>> notes;  // e.g. the algorithm that was chosen
  // Figures of each step of a run, or of each group of ranks, by name ("loss").
  std::vector<std::pair<std::string, std::vector<double>>> curves;
  std::vector<RankTimeline> timeline;  // by rank; overlap only
  std::optional<Skipped> skipped;
  std::vector<std::string> warnings;
};

// The reason in results that are not verified because the command turned verification off.
inline constexpr const char* kNotToBeVerified = "the command says so (-c 0)";

struct Case {
  CaseId id;
  std::function<Measurement()> run;
  // When a run resumes from a journal, a record counts as this case only if it was taken in this
  // mode; none: any mode.
  std::optional<Mode> mode;
  // False if the command turns verification off. If true, a record of a journal that was left
  // unverified by its command does not count as this case.
  bool verified = true;
};

// The result of a case that is not possible here, and a case that is known to be one.
inline Measurement skipped_measurement(const CaseId& id, std::string reason) {
  Measurement result;
  result.id = id;
  result.skipped = Skipped{std::move(reason)};
  return result;
}
inline Case skipped_case(const CaseId& id, std::string reason, const std::optional<Mode>& mode) {
  return {id, [skipped = skipped_measurement(id, std::move(reason))] { return skipped; }, mode};
}

// A finished case, as Benchmark::conclude takes it; measured now or read from a journal.
struct Finished {
  CaseId id;
  double median_seconds = 0;  // 0: skipped
  Cost cost;
  // The median's confidence interval; 0: unknown.
  double low_seconds = 0, high_seconds = 0;
  std::map<std::string, double> metrics = {};
};

// A list of cases, and `conclude`, which derives further measurements from all of them when they
// are done (a fitted curve, a matrix).
struct Benchmark {
  std::vector<Case> cases;
  std::function<std::vector<Measurement>(const std::vector<Finished>&)> conclude;
};

}  // namespace duet
