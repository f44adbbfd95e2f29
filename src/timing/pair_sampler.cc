#include "timing/pair_sampler.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "core/error.h"
#include "timing/prepared.h"
#include "timing/start_gate.h"

namespace duet {
namespace {

double slowest(const std::vector<PairSpan>& spans) {
  double seconds = 0;
  for (const PairSpan& span : spans) seconds = std::max(seconds, span.end - span.begin);
  return seconds;
}

class PairTrial {
 public:
  PairTrial(Team& team, Work& first, const Placement& first_placement, Work& second,
            const Placement& second_placement, const PairMode& mode,
            const std::function<bool()>& stop)
      : team_(team), mode_(mode), stop_(stop), first_gate_(team), second_gate_(team) {
    for (int local = 0; local < team.local_size(); ++local) {
      Device& device = team.local_rank(local).device;
      runs_.push_back({make_timed(device, first, first_placement),
                       make_timed(device, second, second_placement)});
    }
  }

  // Waits until all streams are idle: memory must not be freed while work may still access it.
  ~PairTrial() {
    first_gate_.open();
    second_gate_.open();
    std::vector<Stream*> streams;
    for (RankRun& run_of : runs_) {
      for (TimedWork* side : {&run_of.first, &run_of.second}) streams.push_back(side->stream.get());
    }
    run_dry(team_.machine(), streams, mode_.deadline_seconds);
  }
  PairTrial(const PairTrial&) = delete;
  PairTrial& operator=(const PairTrial&) = delete;

  void run_ungated() {
    team_.each([this](Rank& rank) {
      for (TimedWork* side : {&run_of(rank).first, &run_of(rank).second}) {
        for (int call = 0; call < ungated_calls(team_); ++call) {
          side->work.enqueue(rank, *side->stream);
          side->stream->synchronize(mode_.deadline_seconds);
        }
      }
    });
  }

  // Throws Interrupted if `stop` has returned true: with several processes, in any of them at the
  // last run().
  PairIteration run() {
    const bool several = team_.processes() != nullptr;
    if (several ? stop_agreed_ : stop_wanted()) throw Interrupted();
    const double begin = team_.machine().now();
    PairIteration result;
    result.first.resize(runs_.size());
    result.second.resize(runs_.size());
    team_.each([&](Rank& rank) {
      RankRun& own = run_of(rank);
      mode_.serial ? run_serially(rank, own) : run_beside(rank, own);
      const auto index = static_cast<std::size_t>(rank.local);
      result.first[index] = span(own.first, own);
      result.second[index] = span(own.second, own);
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
  struct RankRun {
    TimedWork first, second;
  };

  bool stop_wanted() const { return stop_ && stop_(); }

  // Makes the iteration that of all ranks, and the inputs of the loop's decisions equal in all
  // processes.
  void agree(PairIteration& iteration, double seconds) {
    std::vector<double> figures{seconds, stop_wanted() ? 1.0 : 0.0};
    for (std::size_t i = 0; i < iteration.first.size(); ++i) {
      for (const PairSpan& span : {iteration.first[i], iteration.second[i]}) {
        figures.insert(figures.end(), {span.begin, span.end});
      }
    }
    const std::string mine(reinterpret_cast<const char*>(figures.data()),
                           figures.size() * sizeof(double));
    iteration = {};
    double slowest = 0;
    for (const std::string& each : team_.processes()->gather_all(
             mine, "all processes to send their times", mode_.deadline_seconds)) {
      std::vector<double> theirs(each.size() / sizeof(double));
      std::memcpy(theirs.data(), each.data(), each.size());
      slowest = std::max(slowest, theirs.at(0));
      stop_agreed_ = stop_agreed_ || theirs.at(1) > 0;
      for (std::size_t i = 2; i < theirs.size(); i += 4) {
        iteration.first.push_back({theirs[i], theirs.at(i + 1)});
        iteration.second.push_back({theirs.at(i + 2), theirs.at(i + 3)});
      }
    }
    agreed_seconds_ += slowest;
  }

  static TimedWork make_timed(Device& device, Work& work, const Placement& placement) {
    return {work, device.make_stream({placement.priority, placement.units}), device.make_event(),
            device.make_event()};
  }

  RankRun& run_of(const Rank& rank) { return runs_[static_cast<std::size_t>(rank.local)]; }

  static void enqueue(Rank& rank, const TimedWork& side, Stream& stream) {
    stream.record(*side.begin);
    side.work.enqueue(rank, stream);
    stream.record(*side.end);
  }

  static PairSpan span(const TimedWork& side, const RankRun& run_of) {
    return {side.begin->seconds_since(*run_of.first.begin),
            side.end->seconds_since(*run_of.first.begin)};
  }

  void run_serially(Rank& rank, RankRun& own) {
    Stream& stream = *own.first.stream;
    first_gate_.hold(rank, stream, mode_.deadline_seconds);
    enqueue(rank, own.first, stream);
    enqueue(rank, own.second, stream);
    first_gate_.release(rank, mode_.deadline_seconds);
    stream.synchronize(mode_.deadline_seconds);
  }

  void run_beside(Rank& rank, RankRun& own) {
    first_gate_.hold(rank, *own.first.stream, mode_.deadline_seconds);
    second_gate_.hold(rank, *own.second.stream, 0);
    enqueue(rank, own.first, *own.first.stream);
    enqueue(rank, own.second, *own.second.stream);
    first_gate_.release(rank, mode_.deadline_seconds, [&] {
      wait_for_lag(*own.first.stream);
      second_gate_.let_go();
    });
    own.first.stream->synchronize(mode_.deadline_seconds);
    own.second.stream->synchronize(mode_.deadline_seconds);
  }

  // Polls until the lag is over or the stream is idle. On a simulated machine a poll takes virtual
  // time too, so the loop ends.
  void wait_for_lag(Stream& first) {
    const double until = team_.machine().now() + mode_.lag_seconds;
    while (team_.machine().now() < until && !first.idle()) {
    }
  }

  Team& team_;
  PairMode mode_;
  const std::function<bool()>& stop_;
  double agreed_seconds_ = 0;
  bool stop_agreed_ = false;
  StartGate first_gate_, second_gate_;
  std::vector<RankRun> runs_;
};

}  // namespace

Mode alone_mode(const PairMode& mode, const Machine& machine) {
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

double PairIteration::first_seconds() const { return slowest(first); }
double PairIteration::second_seconds() const { return slowest(second); }

double PairIteration::together() const {
  double seconds = 0;
  for (const auto* side : {&first, &second}) {
    for (const PairSpan& span : *side) seconds = std::max(seconds, span.end);
  }
  return seconds;
}

PairSampling PairSampler::measure(Work& first, const Placement& first_placement, Work& second,
                                  const Placement& second_placement, const PairMode& mode,
                                  const AfterSamples& after) {
  const Prepared first_prepared(team_, first, first_placement);
  const Prepared second_prepared(team_, second, second_placement);
  for (const Work* work : {&first, &second}) {
    if (work->host_driven()) {
      throw BadArgument(work->name() + ": expected work that does not block the host");
    }
  }
  PairSampling sampling;
  {
    std::optional<PairTrial> trial;
    team_.together([&] {
      trial.emplace(team_, first, first_placement, second, second_placement, mode, stop_);
    });
    trial->run_ungated();
    const bool model = team_.machine().is_virtual();
    double begin = trial->now();
    const auto more = [&](int count, int least, double seconds) {
      return count < least || (!model && trial->now() - begin < seconds);
    };
    if (!model) {
      for (; more(sampling.warm_ups, mode.warm_ups, mode.warm_up_seconds); ++sampling.warm_ups)
        trial->run();
    }
    begin = trial->now();
    while (more(static_cast<int>(sampling.iterations.size()), mode.iterations, mode.seconds)) {
      sampling.iterations.push_back(trial->run());
    }
    if (after) after([&trial] { return Rerun{1, trial->run().together()}; });
    team_.each([&](Rank& rank) {
      first.renew(rank);
      second.renew(rank);
    });
    trial->run();
  }
  for (Work* work : {&first, &second}) {
    const std::string unverified = verify(team_, *work);
    if (!unverified.empty()) {
      sampling.warnings.push_back(work->name() + " not verified: " + unverified);
    }
  }
  sampling.verified = sampling.warnings.empty();
  return sampling;
}

}  // namespace duet
