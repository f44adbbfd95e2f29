// A Work from preparation to release.
#include "timing/sampler.h"

#include <optional>

#include "timing/prepared.h"
#include "timing/stream_trial.h"

namespace duet {

Sampling Sampler::measure(Work& work, const Mode& asked, const Placement& placement) {
  const Prepared prepared(team_, work, placement);
  Mode mode = asked;
  if (team_.machine().is_virtual()) {  // a model does not get warm
    mode.warm_up_seconds = 0;
    mode.warm_up_iterations = 0;
  }
  Sampling sampling;
  {
    std::optional<StreamTrial> trial;
    team_.together([&] { trial.emplace(team_, work, mode, placement, stop_); });
    trial->run_ungated();
    sampling = sample(*trial, mode, [&] { return trial->stop(); });
  }
  const std::string unverified = verify(team_, work);
  sampling.verified = unverified.empty();
  if (!sampling.verified) sampling.warnings.push_back("not verified: " + unverified);
  return sampling;
}

}  // namespace duet
