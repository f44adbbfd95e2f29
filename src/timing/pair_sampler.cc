#include "timing/pair_sampler.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.h"
#include "timing/prepared.h"
#include "timing/run_dry.h"
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
            const Placement& second_placement, const PairMode& mode)
      : team_(team), mode_(mode), first_gate_(team), second_gate_(team) {
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
        side->work.enqueue(rank, *side->stream);
        side->stream->synchronize(mode_.deadline_seconds);
      }
    });
  }

  PairIteration run() {
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
    return result;
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
    second_gate_.hold(rank, *own.second.stream, mode_.deadline_seconds);
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
  if (team_.processes() != nullptr) {
    throw Unavailable("two works beside each other: expected ranks of one process");
  }
  const Prepared first_prepared(team_, first, first_placement);
  const Prepared second_prepared(team_, second, second_placement);
  for (const Work* work : {&first, &second}) {
    if (work->host_driven()) {
      throw BadArgument(work->name() + ": expected work that does not block the host");
    }
  }
  PairSampling sampling;
  {
    PairTrial trial(team_, first, first_placement, second, second_placement, mode);
    trial.run_ungated();
    const auto run = [&] {
      if (stop_ && stop_()) throw Interrupted();
      return trial.run();
    };
    Machine& machine = team_.machine();
    const bool model = machine.is_virtual();
    double begin = machine.now();
    const auto more = [&](int count, int least, double seconds) {
      return count < least || (!model && machine.now() - begin < seconds);
    };
    if (!model) {
      for (; more(sampling.warm_ups, mode.warm_ups, mode.warm_up_seconds); ++sampling.warm_ups)
        run();
    }
    begin = machine.now();
    while (more(static_cast<int>(sampling.iterations.size()), mode.iterations, mode.seconds)) {
      sampling.iterations.push_back(run());
    }
    if (after) after([&run] { return Rerun{1, run().together()}; });
    team_.each([&](Rank& rank) {
      first.renew(rank);
      second.renew(rank);
    });
    trial.run();
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
