#include "timing/beside_sampler.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "core/error.h"
#include "timing/prepared.h"
#include "timing/start_gate.h"

namespace duet {
namespace {

class BesideTrial {
 public:
  BesideTrial(Team& team, const std::vector<PlacedWork>& works, const BesideMode& mode,
              const std::function<bool()>& stop)
      : team_(team), mode_(mode), stop_(stop), first_gate_(team), others_gate_(team) {
    for (int local = 0; local < team.local_size(); ++local) {
      Device& device = team.local_rank(local).device;
      std::vector<TimedWork>& run = runs_.emplace_back();
      for (const PlacedWork& each : works) run.push_back(make_timed(device, each));
    }
  }

  // Waits until all streams are idle: memory must not be freed while work may still access it.
  ~BesideTrial() {
    first_gate_.open();
    others_gate_.open();
    std::vector<Stream*> streams;
    for (const auto& run : runs_) {
      for (const TimedWork& each : run) streams.push_back(each.stream.get());
    }
    run_dry(team_.machine(), streams, mode_.deadline_seconds);
  }
  BesideTrial(const BesideTrial&) = delete;
  BesideTrial& operator=(const BesideTrial&) = delete;

  void run_ungated() {
    team_.each([this](Rank& rank) {
      for (const TimedWork& each : run_of(rank)) {
        for (int call = 0; call < ungated_calls(team_); ++call) {
          enqueue_in_range(each.work, rank, *each.stream);
          each.stream->synchronize(mode_.deadline_seconds);
        }
      }
    });
  }

  // Throws Interrupted if `stop` has returned true: with several processes, in any of them at the
  // last run().
  BesideIteration run() {
    const bool several = team_.processes() != nullptr;
    if (several ? stop_agreed_ : stop_wanted()) throw Interrupted();
    const double begin = team_.machine().now();
    BesideIteration result;
    result.works.assign(runs_.front().size(), std::vector<WorkSpan>(runs_.size()));
    team_.each([&](Rank& rank) {
      const std::vector<TimedWork>& own = run_of(rank);
      run_beside(rank, own);
      for (std::size_t work = 0; work < own.size(); ++work) {
        const Event& zero = *own.front().begin;
        result.works[work][static_cast<std::size_t>(rank.local)] = {
            own[work].begin->seconds_since(zero), own[work].end->seconds_since(zero)};
      }
    });
    if (several) agree(result, team_.machine().now() - begin);
    return result;
  }

  // The clock by which to decide how many iterations to run, the same in all processes.
  double now() const {
    return team_.processes() != nullptr ? agreed_seconds_ : team_.machine().now();
  }

 private:
  struct TimedWork {
    Work& work;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> begin, end;
  };

  bool stop_wanted() const { return stop_ && stop_(); }

  // Makes the iteration that of all ranks, and the inputs of the loop's decisions equal in all
  // processes.
  void agree(BesideIteration& iteration, double seconds) {
    const std::size_t works = iteration.works.size(), ranks = iteration.works.front().size();
    std::vector<double> figures{seconds, stop_wanted() ? 1.0 : 0.0};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (const auto& spans : iteration.works) {
        figures.insert(figures.end(), {spans[rank].begin, spans[rank].end});
      }
    }
    const std::string mine(reinterpret_cast<const char*>(figures.data()),
                           figures.size() * sizeof(double));
    iteration.works.assign(works, {});
    double slowest = 0;
    for (const std::string& each : team_.processes()->gather_all(
             mine, "all processes to send their times", mode_.deadline_seconds)) {
      std::vector<double> theirs(each.size() / sizeof(double));
      std::memcpy(theirs.data(), each.data(), each.size());
      slowest = std::max(slowest, theirs.at(0));
      stop_agreed_ = stop_agreed_ || theirs.at(1) > 0;
      for (std::size_t i = 2; i < theirs.size(); i += 2) {
        iteration.works[(i / 2 - 1) % works].push_back({theirs[i], theirs.at(i + 1)});
      }
    }
    agreed_seconds_ += slowest;
  }

  static TimedWork make_timed(Device& device, const PlacedWork& placed) {
    return {placed.work, device.make_stream({placed.placement.priority, placed.placement.units}),
            device.make_event(), device.make_event()};
  }

  const std::vector<TimedWork>& run_of(const Rank& rank) const {
    return runs_[static_cast<std::size_t>(rank.local)];
  }

  // The stream on which a Work runs.
  Stream& stream_of(const std::vector<TimedWork>& own, std::size_t work) const {
    return *own[mode_.serial && work == 1 ? 0 : work].stream;
  }

  void run_beside(Rank& rank, const std::vector<TimedWork>& own) {
    Stream& first = *own.front().stream;
    first_gate_.hold(rank, first, mode_.deadline_seconds);
    const std::size_t second_held = mode_.serial ? 2 : 1;
    for (std::size_t work = second_held; work < own.size(); ++work) {
      others_gate_.hold(rank, *own[work].stream, 0);
    }
    for (std::size_t work = 0; work < own.size(); ++work) {
      Stream& stream = stream_of(own, work);
      stream.record(*own[work].begin);
      enqueue_in_range(own[work].work, rank, stream);
      stream.record(*own[work].end);
    }
    first_gate_.release(rank, mode_.deadline_seconds, [&] {
      if (second_held >= own.size()) return;
      if (mode_.lag_seconds > 0) wait_for_lag(first);
      others_gate_.let_go();
    });
    for (const TimedWork& each : own) each.stream->synchronize(mode_.deadline_seconds);
  }

  // Polls until the lag is over or the stream is idle. On a simulated machine a poll takes virtual
  // time too, so the loop ends.
  void wait_for_lag(Stream& first) {
    const double until = team_.machine().now() + mode_.lag_seconds;
    while (team_.machine().now() < until && !first.idle()) {
    }
  }

  Team& team_;
  BesideMode mode_;
  const std::function<bool()>& stop_;
  double agreed_seconds_ = 0;
  bool stop_agreed_ = false;
  StartGate first_gate_, others_gate_;
  std::vector<std::vector<TimedWork>> runs_;  // by local rank, then by Work
};

std::vector<std::unique_ptr<Prepared>> prepare_all(Team& team,
                                                   const std::vector<PlacedWork>& works) {
  std::vector<std::unique_ptr<Prepared>> prepared;
  for (const PlacedWork& each : works) {
    prepared.push_back(std::make_unique<Prepared>(team, each.work, each.placement));
  }
  for (const PlacedWork& each : works) {
    if (each.work.host_driven()) {
      throw BadArgument(each.work.name() + ": expected work that does not block the host");
    }
  }
  return prepared;
}

// Warms up and samples: an iteration of each turn, again and again.
void sample_turns(BesideTrial& trial, const BesideMode& mode, bool is_virtual, int turns,
                  const std::function<BesideIteration(int)>& run,
                  std::vector<BesideSampling>& samplings) {
  double begin = trial.now();
  const auto more = [&](int count, int least, double seconds) {
    return count < least || (!is_virtual && trial.now() - begin < seconds * turns);
  };
  int warm_ups = 0;
  for (; !is_virtual && more(warm_ups, mode.warm_ups, mode.warm_up_seconds); ++warm_ups) {
    for (int turn = 0; turn < turns; ++turn) run(turn);
  }
  begin = trial.now();
  for (int count = 0; more(count, mode.iterations, mode.seconds); ++count) {
    for (int turn = 0; turn < turns; ++turn) {
      BesideSampling& sampling = samplings[static_cast<std::size_t>(turn)];
      sampling.warm_ups = warm_ups;
      sampling.iterations.push_back(run(turn));
    }
  }
}

}  // namespace

Mode alone_mode(const BesideMode& mode, const Machine& machine) {
  Mode alone;
  alone.warm_up_seconds = mode.warm_up_seconds;
  if (mode.warm_up_seconds <= 0) alone.warm_up_iterations = mode.warm_ups;
  alone.min_iterations = alone.fair_iterations = mode.iterations;
  if (machine.is_virtual()) alone.max_iterations = mode.iterations;
  alone.seconds = mode.seconds;
  alone.relative_interval = 0;
  alone.deadline_seconds = mode.deadline_seconds;
  return alone;
}

double BesideIteration::seconds(std::size_t work) const {
  double seconds = 0;
  for (const WorkSpan& span : works.at(work)) seconds = std::max(seconds, span.seconds());
  return seconds;
}

double BesideIteration::together() const {
  double seconds = 0;
  for (const auto& spans : works) {
    for (const WorkSpan& span : spans) seconds = std::max(seconds, span.end);
  }
  return seconds;
}

BesideSampling BesideSampler::measure(const std::vector<PlacedWork>& works, const BesideMode& mode,
                                      const AfterSamples& after) {
  return measure_by_turns(works, mode, {}, after).front();
}

std::vector<BesideSampling> BesideSampler::measure_by_turns(const std::vector<PlacedWork>& works,
                                                            const BesideMode& mode,
                                                            const BesideTurns& turns,
                                                            const AfterSamples& after) {
  if (works.empty()) throw BadArgument("works at the same time: expected one or more");
  const auto prepared = prepare_all(team_, works);
  std::vector<BesideSampling> samplings(static_cast<std::size_t>(turns.count));
  {
    std::optional<BesideTrial> trial;
    team_.together([&] { trial.emplace(team_, works, mode, stop_); });
    const auto begin = [&](int turn) {
      if (turns.begin) turns.begin(turn);
    };
    const auto run = [&](int turn) {
      begin(turn);
      return trial->run();
    };
    begin(0);
    trial->run_ungated();
    sample_turns(*trial, mode, team_.machine().is_virtual(), turns.count, run, samplings);
    if (after) after([&run] { return Rerun{1, run(0).together()}; });
    team_.each([&](Rank& rank) {
      for (const PlacedWork& each : works) each.work.renew(rank);
    });
    run(0);
  }
  std::vector<std::string> warnings;
  for (const PlacedWork& each : works) {
    const std::string unverified = verify(team_, each.work);
    if (!unverified.empty()) warnings.push_back(each.work.name() + " not verified: " + unverified);
  }
  for (BesideSampling& each : samplings) {
    each.verified = warnings.empty();
    each.warnings = warnings;
  }
  return samplings;
}

}  // namespace duet
