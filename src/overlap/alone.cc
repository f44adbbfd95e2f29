// Each work runs with the same warm-up as all together, so that clocks have settled.
#include "overlap/alone.h"

#include <algorithm>

#include "core/error.h"
#include "overlap/side_work.h"
#include "timing/sampler.h"
#include "timing/statistics.h"

namespace duet {

std::string AloneTimes::compute_name(const OverlapScenario& scenario) {
  return full_name(scenario) + ", compute";
}

std::string AloneTimes::communication_name(const OverlapScenario& scenario,
                                           const std::string& engine) {
  return full_name(scenario) + ", " + engine;
}

std::string AloneTimes::copy_name(const OverlapScenario& scenario) {
  return full_name(scenario) + ", copy";
}

void AloneTimes::begin(const OverlapScenario& scenario) {
  if (scenario_ == full_name(scenario)) return;
  scenario_ = full_name(scenario);
  compute_.clear();
  communication_.clear();
  copy_.reset();
  lacking_.clear();
}

double AloneTimes::median(Work& work, const Placement& placement, const std::string& name) {
  const Mode mode = alone_mode(mode_, engines_.team().machine());
  const bool energy = energy_ != nullptr && placement.units == 0;
  const AfterSamples after = energy ? energy_->take(name) : AfterSamples();
  return summarise(Sampler(engines_.team(), stop_).measure(work, mode, placement, after).samples)
      .median;
}

double AloneTimes::compute(const OverlapScenario& scenario, int units) {
  const auto found = compute_.find(units);
  if (found != compute_.end()) return found->second;
  SideWork work = SideWork::computing(engines_, scenario);
  return compute_[units] = median(work.all(), {0, units}, compute_name(scenario));
}

double AloneTimes::communication(const OverlapScenario& scenario, const std::string& engine) {
  const auto found = communication_.find(engine);
  if (found != communication_.end()) return found->second;
  SideWork work = SideWork::communicating(engines_, scenario, engine);
  return communication_[engine] = median(work.all(), {}, communication_name(scenario, engine));
}

double AloneTimes::copy(const OverlapScenario& scenario) {
  if (!scenario.copy) return 0;
  if (copy_) return *copy_;
  SideWork work = SideWork::copying(engines_, scenario);
  return copy_.emplace(median(work.all(), {}, copy_name(scenario)));
}

double AloneTimes::least_compute(const OverlapScenario& scenario, const std::vector<int>& units) {
  double least = compute(scenario, 0);
  for (const int each : units) least = std::min(least, compute(scenario, each));
  return least;
}

double AloneTimes::least_communication(const OverlapScenario& scenario) {
  double least = communication(scenario, engines_.usual(scenario.communication));
  for (const std::string& each : engines_.others(scenario.communication)) {
    if (lacking_.count(each) != 0) continue;
    try {
      least = std::min(least, communication(scenario, each));
    } catch (const Interrupted&) {
      throw;
    } catch (const Unavailable&) {
      lacking_.insert(each);
    } catch (const std::exception&) {  // the case of that engine reports the error
      lacking_.insert(each);
      engines_.close();
    }
  }
  return least;
}

}  // namespace duet
