// A Work from preparation to release.
#include "timing/sampler.h"

#include <mutex>
#include <optional>

#include "timing/stream_trial.h"

namespace duet {
namespace {

// Releases on every rank, whatever happened.
class Prepared {
 public:
  Prepared(Team& team, Work& work, const Placement& placement) : team_(team), work_(work) {
    try {
      team_.each([&](Rank& rank) { work_.prepare(rank, placement); });
    } catch (...) {
      release();
      throw;
    }
  }
  ~Prepared() { release(); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  void release() noexcept {
    for (int local = 0; local < team_.local_size(); ++local) {
      Rank rank = team_.local_rank(local);
      work_.release(rank);
    }
  }

  Team& team_;
  Work& work_;
};

void verify(Team& team, Work& work, Sampling& sampling) {
  std::mutex mutex;
  std::string reason;
  team.each([&](Rank& rank) {
    const auto result = work.verify(rank);
    if (const Skipped* skipped = std::get_if<Skipped>(&result)) {
      const std::lock_guard<std::mutex> lock(mutex);
      reason = skipped->reason;
    }
  });
  if (team.processes() != nullptr) {
    const auto reasons = team.processes()->gather_all(reason, "all processes to verify", 60);
    reason.clear();
    for (const std::string& each : reasons) {
      if (reason.empty()) reason = each;
    }
  }
  sampling.verified = reason.empty();
  if (!reason.empty()) sampling.warnings.push_back("not verified: " + reason);
}

}  // namespace

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
  verify(team_, work, sampling);
  return sampling;
}

}  // namespace duet
