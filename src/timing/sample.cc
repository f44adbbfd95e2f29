// The measuring loop: warm up, sample, stop. It uses neither devices nor streams.
#include <algorithm>
#include <cmath>

#include "timing/sampler.h"

namespace duet {
namespace {

// A batch is enqueued as a whole. It must be long enough to keep the device busy; short enough to
// react to Ctrl-C and the stopping rule; and fit into every vendor's launch queue, because it waits
// behind the start gate.
constexpr double kBatchSeconds = 0.02;
constexpr int kBatchIterations = 32;
constexpr double kGroupSeconds = 0.05;  // of calls between two events
constexpr int kGroupIterations = 64;
constexpr int kFewestSamples = 3;  // even if one sample takes longer than the time limit
constexpr double kPatience = 10;   // times the time limit, before min_iterations is given up
// Times the time limit, before fair_iterations is given up, and the wait for samples that drift.
constexpr double kGrace = 4;
constexpr double kWindowSeconds = 0.1;  // of one sample of a sustained run

using Stop = std::function<bool()>;

// Runs batches and measures the time that an iteration takes including its overhead (cache flush,
// start gate), and the time spent so far.
class Pace {
 public:
  Pace(Trial& trial, const Stop& stop) : trial_(trial), stop_(stop) {}

  std::vector<double> run(int iterations, bool grouped) {
    if (stop_ && stop_()) throw Interrupted();
    const double begin = trial_.now();
    std::vector<double> samples = trial_.run(iterations, grouped);
    const double elapsed = trial_.now() - begin;
    per_iteration_ = elapsed / iterations;
    spent_ += elapsed;
    ++batches_;
    return samples;
  }

  // As many iterations as fit into `seconds`, from 1 to `most`.
  int fitting(double seconds, int most = kBatchIterations) const {
    if (per_iteration_ <= 0) return most;
    return static_cast<int>(std::clamp(seconds / per_iteration_, 1.0, static_cast<double>(most)));
  }

  // Begins a phase of `limit` seconds. over() also ends a phase whose batches take no time at all.
  void begin(double limit) {
    limit_ = limit;
    spent_ = 0;
    batches_ = 0;
  }
  double spent() const { return spent_; }
  double left() const { return std::max(0.0, limit_ - spent_); }
  bool over() const { return spent_ >= limit_ || (spent_ <= 0 && batches_ >= kMostEmptyBatches); }

 private:
  static constexpr int kMostEmptyBatches = 1000;

  Trial& trial_;
  const Stop& stop_;
  double per_iteration_ = 0, spent_ = 0, limit_ = 0;
  int batches_ = 0;
};

void append(std::vector<double>& samples, const std::vector<double>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
}

// Runs mode.warm_up_iterations if it is set; otherwise at least one iteration, until
// mode.warm_up_seconds are over.
void warm_up(Pace& pace, const Mode& mode, Sampling& out) {
  while (out.warm_ups < mode.warm_up_iterations) {
    const int count = std::min(mode.warm_up_iterations - out.warm_ups, kBatchIterations);
    pace.run(count, false);
    out.warm_ups += count;
  }
  if (mode.warm_up_iterations > 0) return;
  pace.begin(mode.warm_up_seconds);
  do {
    const int count = out.warm_ups == 0 ? 1 : pace.fitting(std::min(kBatchSeconds, pace.left()));
    pace.run(count, false);
    out.warm_ups += count;
  } while (!pace.over());
}

// Whether to test the interval again. Each test is one more chance to stop while the interval is
// narrow by luck, so it is tested only when there are half as many samples again.
bool worth_asking(std::size_t before, std::size_t now) { return 2 * now >= 3 * before; }

// A short series does not show slow changes, and looks steadier than it is. From this many samples
// on, the requested width is enough to stop; fewer samples need a narrower interval.
constexpr double kSamplesForAskedWidth = 1024;

bool narrow_enough(const Summary& s, const Mode& mode) {
  const double share = std::sqrt(std::min(1.0, static_cast<double>(s.n) / kSamplesForAskedWidth));
  return s.ci_width <= share * mode.relative_interval * s.median;
}

// When an adaptive case ends. At the time limit it goes on while its samples drift: clocks may
// still settle.
class Stopping {
 public:
  explicit Stopping(const Mode& mode) : mode_(mode) {}

  // Why to stop, or "" to go on.
  std::string reason(const std::vector<double>& samples, double spent) {
    const int n = static_cast<int>(samples.size());
    if (n >= mode_.max_iterations) return "iterations";
    if (n >= kFewestSamples && spent >= kPatience * mode_.seconds) return "time";
    if (n < mode_.min_iterations) return "";
    const bool late = spent >= mode_.seconds;
    if (spent >= kGrace * mode_.seconds) return "time";
    const bool ask = worth_asking(asked_, samples.size()) || late != late_;
    late_ = late;
    if (ask) ask_about(samples);
    if (late && n >= mode_.fair_iterations && !drifting_) return "time";
    return ask && narrow_ ? "interval" : "";
  }

 private:
  void ask_about(const std::vector<double>& samples) {
    const Summary s = summarise(samples);
    asked_ = samples.size();
    drifting_ = s.drifting;
    narrow_ = narrow_enough(s, mode_);
  }

  const Mode& mode_;
  std::size_t asked_ = 0;  // samples at the last look at their interval
  bool late_ = false;      // the time limit is over
  bool drifting_ = false, narrow_ = false;
};

void sample_adaptive(Pace& pace, const Mode& mode, Sampling& out) {
  pace.begin(mode.seconds);
  Stopping stopping(mode);
  while (out.stopped_by.empty()) {
    const int have = static_cast<int>(out.samples.size());
    const int wanted = std::max(mode.min_iterations - have, pace.fitting(kBatchSeconds));
    const int most = std::min(pace.fitting(10 * kBatchSeconds), mode.max_iterations - have);
    append(out.samples, pace.run(std::min(wanted, most), false));
    out.stopped_by = stopping.reason(out.samples, pace.spent());
  }
}

void sample_do_bench(Pace& pace, const Mode& mode, Sampling& out) {
  pace.begin(mode.seconds);
  int left = pace.fitting(mode.seconds, mode.max_iterations);
  while (left > 0) {
    const int count = std::min(left, pace.fitting(kBatchSeconds));
    append(out.samples, pace.run(count, false));
    left -= count;
  }
  out.stopped_by =
      static_cast<int>(out.samples.size()) == mode.max_iterations ? "iterations" : "time";
}

// The mean time of `calls` calls, enqueued in groups that fit into every vendor's launch queue.
double mean_of(Pace& pace, int calls) {
  double sum = 0;
  for (int left = calls; left > 0; left -= kGroupIterations) {
    const int count = std::min(left, kGroupIterations);
    sum += pace.run(count, true).front() * count;
  }
  return sum / calls;
}

void sample_loop(Pace& pace, const Mode& mode, Sampling& out) {
  for (int i = 0; i < mode.max_iterations; ++i) {
    out.samples.push_back(mean_of(pace, mode.iterations));
  }
  out.stopped_by = "iterations";
}

// The mean time of a call, over as many calls as take at least `seconds`.
double mean_call(Pace& pace, double seconds) {
  double sum = 0;
  double calls = 0;
  pace.begin(seconds);
  do {
    const int count = pace.fitting(std::min(kGroupSeconds, pace.left()), kGroupIterations);
    sum += pace.run(count, true).front() * count;
    calls += count;
  } while (!pace.over());
  return sum / calls;
}

// Takes one sample per window, and a reading of clocks and power after each.
void sample_sustained(Trial& trial, Pace& pace, const Mode& mode, Sampling& out) {
  const double begin = trial.now();
  while (trial.now() - begin < mode.seconds) {
    out.samples.push_back(mean_call(pace, kWindowSeconds));
    trial.reading(out.telemetry);
  }
  out.stopped_by = "time";
}

}  // namespace

Sampling sample(Trial& trial, const Mode& mode, const std::function<bool()>& stop) {
  Sampling out;
  out.mode = std::string(name(mode.kind));
  out.flushed = mode.flush;
  Pace pace(trial, stop);
  warm_up(pace, mode, out);
  trial.reading(out.telemetry);
  switch (mode.kind) {
    case ModeKind::adaptive:
      sample_adaptive(pace, mode, out);
      break;
    case ModeKind::do_bench:
      sample_do_bench(pace, mode, out);
      break;
    case ModeKind::loop:
      sample_loop(pace, mode, out);
      break;
    case ModeKind::at_least:
      out.samples.push_back(mean_call(pace, mode.seconds));
      out.stopped_by = "time";
      break;
    case ModeKind::sustained:
      sample_sustained(trial, pace, mode, out);
      break;
  }
  trial.reading(out.telemetry);
  return out;
}

}  // namespace duet
