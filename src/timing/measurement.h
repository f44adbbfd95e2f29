// A case is one point of a benchmark's axes; a measurement is what became of it. Workloads make
// both; results/ writes them, and computes every rate from cost and samples.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "timing/axes.h"
#include "timing/pair_sampler.h"
#include "timing/sampler.h"

namespace duet {

struct CaseId {
  std::string benchmark;  // "gemm", "copy"
  std::string device;     // "cuda:0", "sim:mi300x-8"
  std::string engine;     // whose implementation
  Axes axes;
};

// One rank's part of the last iteration of two works at once, in seconds from when its first was
// let go.
struct RankTimeline {
  PairSpan compute, communication;
};

struct Measurement {
  CaseId id;
  std::optional<Sampling> sampling;  // none: skipped, or derived from other measurements
  Cost cost;                         // of one sample's iteration
  std::vector<std::pair<std::string, double>> rates;       // beyond those that follow from the cost
  std::vector<std::pair<std::string, double>> metrics;     // ratios and the like: no rates
  std::vector<std::pair<std::string, std::string>> notes;  // e.g. the algorithm that was chosen
  std::vector<RankTimeline> timeline;                      // by rank; of overlap alone
  std::optional<Skipped> skipped;
  std::vector<std::string> warnings;
};

// Why results are not verified where the command says so.
inline constexpr const char* kNotToBeVerified = "the command says so (-c 0)";

struct Case {
  CaseId id;
  std::function<Measurement()> run;
  // A journal's figure taken in another mode does not count as this case; none: any does.
  std::optional<Mode> mode;
  // False: the command turns verification off. Where it is on, a journal's figure that a command
  // left unverified does not count as this case.
  bool verified = true;
};

// A finished case as summaries need it; also read back from a journal.
struct Finished {
  CaseId id;
  double median_seconds = 0;  // 0: skipped
  Cost cost;
  // The median's confidence interval; 0: not known.
  double low_seconds = 0, high_seconds = 0;
};

// What a benchmark registers: its cases, and what follows from them when they are done (a fitted
// curve, a matrix).
struct Benchmark {
  std::vector<Case> cases;
  std::function<std::vector<Measurement>(const std::vector<Finished>&)> conclude;
};

}  // namespace duet
