#include "timing/sampler.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "timing/prepared.h"
#include "timing/stream_trial.h"

namespace duet {

namespace {

// Reruns behind one gate: long enough that the gate's own time is small beside theirs, and few
// enough to fit into every vendor's launch queue.
constexpr double kRerunSeconds = 0.02;
constexpr double kMostReruns = 16;
constexpr double kMostVirtual = 4;  // of a simulated machine, where only neighbouring calls matter

// `seconds` is the time of one of the Work's calls.
Rerun run_again(StreamTrial& trial, const Work& work, double seconds) {
  if (trial.stop()) throw Interrupted();
  const double whole = seconds * work.calls();
  const double fitting = whole > 0 ? kRerunSeconds / whole : kMostReruns;
  const int iterations = static_cast<int>(std::clamp(fitting, 1.0, kMostReruns));
  const int calls = iterations * work.calls();
  return {calls, calls * trial.run(iterations, true).front()};
}

// A Work in turns with others.
struct Turn {
  std::unique_ptr<Prepared> prepared;
  std::unique_ptr<StreamTrial> trial;
  Work* work = nullptr;
  int enqueues = 1;  // of a group
  double spent = 0;  // seconds
  Sampling sampling = {};

  double run(const std::function<bool()>& stop) {
    if (stop()) throw Interrupted();
    const double begin = trial->now();
    const double sample = trial->run(enqueues, true).front();
    spent += trial->now() - begin;
    return sample;
  }
};

// Groups long enough that the gate's own time is small beside them. Also warms up.
void choose_groups(std::vector<Turn>& turns, const Mode& mode, bool is_virtual,
                   const std::function<bool()>& stop) {
  for (Turn& turn : turns) {
    const double seconds = turn.run(stop) * turn.work->calls();
    ++turn.sampling.warm_ups;
    const double most = std::min(is_virtual ? kMostVirtual : kMostReruns,
                                 static_cast<double>(turn.work->most_queued()));
    turn.enqueues =
        seconds > 0 ? static_cast<int>(std::clamp(kRerunSeconds / seconds, 1.0, most)) : 1;
    while (turn.spent < mode.warm_up_seconds) {
      turn.run(stop);
      turn.sampling.warm_ups += turn.enqueues;
    }
    turn.spent = 0;
  }
}

bool is_narrow(const Sampling& sampling, double relative_interval) {
  const Summary summary = summarise(sampling.samples);
  return summary.bounded && summary.ci_high - summary.ci_low <= relative_interval * summary.median;
}

void sample_by_turns(std::vector<Turn>& turns, const Mode& mode,
                     const std::function<bool()>& stop) {
  for (int round = 1;; ++round) {
    for (Turn& turn : turns) turn.sampling.samples.push_back(turn.run(stop));
    if (round < std::min(mode.min_iterations, mode.max_iterations)) continue;
    const bool narrow = std::all_of(turns.begin(), turns.end(), [&](const Turn& turn) {
      return is_narrow(turn.sampling, mode.relative_interval);
    });
    double spent = 0;
    for (const Turn& turn : turns) spent += turn.spent;
    const bool late = spent >= mode.seconds * static_cast<double>(turns.size());
    if (!narrow && !late && round < mode.max_iterations) continue;
    for (Turn& turn : turns)
      turn.sampling.stopped_by = narrow ? "interval" : late ? "time" : "iterations";
    return;
  }
}

}  // namespace

std::vector<Sampling> Sampler::measure_by_turns(const std::vector<Work*>& works, const Mode& asked,
                                                const Placement& placement,
                                                const AfterSamples& after) {
  Mode mode = asked;
  if (team_.machine().is_virtual()) mode.warm_up_seconds = 0;
  std::vector<Turn> turns;
  for (Work* const work : works) {
    Turn& turn = turns.emplace_back();
    turn.work = work;
    turn.prepared = std::make_unique<Prepared>(team_, *work, placement);
    team_.together(
        [&] { turn.trial = std::make_unique<StreamTrial>(team_, *work, mode, placement, stop_); });
    turn.trial->run_ungated();
  }
  const auto stop = [&] { return turns.front().trial->stop(); };
  choose_groups(turns, mode, team_.machine().is_virtual(), stop);
  sample_by_turns(turns, mode, stop);
  if (after) {
    Turn& first = turns.front();
    const double seconds = summarise(first.sampling.samples).median;
    after([&] { return run_again(*first.trial, *first.work, seconds); });
  }
  std::vector<Sampling> all;
  for (Turn& turn : turns) {
    turn.sampling.mode = "turns";
    turn.trial->reading(turn.sampling.telemetry);
    team_.each([&](Rank& rank) { turn.work->renew(rank); });
    turn.trial->run(1, false);
    turn.trial.reset();
    const std::string unverified = verify(team_, *turn.work);
    turn.sampling.verified = unverified.empty();
    if (!unverified.empty()) turn.sampling.warnings.push_back("not verified: " + unverified);
    all.push_back(std::move(turn.sampling));
  }
  return all;
}

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
