#include "timing/sampler.h"

#include <algorithm>
#include <optional>

#include "timing/prepared.h"
#include "timing/stream_trial.h"

namespace duet {

namespace {

// Reruns behind one gate: long enough that the gate's own time is small beside theirs, and few
// enough to fit into every vendor's launch queue.
constexpr double kRerunSeconds = 0.02;
constexpr double kMostReruns = 16;

// `seconds` is the time of one of the Work's calls.
Rerun run_again(StreamTrial& trial, const Work& work, double seconds) {
  if (trial.stop()) throw Interrupted();
  const double whole = seconds * work.calls();
  const double fitting = whole > 0 ? kRerunSeconds / whole : kMostReruns;
  const int iterations = static_cast<int>(std::clamp(fitting, 1.0, kMostReruns));
  const int calls = iterations * work.calls();
  return {calls, calls * trial.run(iterations, true).front()};
}

}  // namespace

Sampling Sampler::measure(Work& work, const Mode& asked, const Placement& placement,
                          const AfterSamples& after) {
  const Prepared prepared(team_, work, placement);
  Mode mode = asked;
  if (team_.machine().is_virtual()) {  // a simulated machine needs no warm-up
    mode.warm_up_seconds = 0;
    mode.warm_up_iterations = 0;
  }
  Sampling sampling;
  {
    std::optional<StreamTrial> trial;
    team_.together([&] { trial.emplace(team_, work, mode, placement, stop_); });
    trial->run_ungated();
    sampling = sample(*trial, mode, [&] { return trial->stop(); });
    const double seconds = summarise(sampling.samples).median;
    if (after) after([&] { return run_again(*trial, work, seconds); });
    team_.each([&](Rank& rank) { work.renew(rank); });
    trial->run(1, false);
  }
  const std::string unverified = verify(team_, work);
  sampling.verified = unverified.empty();
  if (!sampling.verified) sampling.warnings.push_back("not verified: " + unverified);
  return sampling;
}

}  // namespace duet
