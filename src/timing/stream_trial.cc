#include "timing/stream_trial.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "timing/prepared.h"

namespace duet {
namespace {

// The bytes to write to evict earlier data from the cache: twice its size, because caches do not
// replace strictly by age.
std::uint64_t flush_bytes(const DeviceInfo& info) { return 2 * info.cache_bytes; }

}  // namespace

StreamTrial::StreamTrial(Team& team, Work& work, const Mode& mode, const Placement& placement,
                         std::function<bool()> stop)
    : team_(team), work_(work), mode_(mode), stop_(std::move(stop)), gate_(team) {
  for (int rank = 0; rank < team.local_size(); ++rank) {
    Device& device = team.local_rank(rank).device;
    RankTrial trial;
    trial.stream = device.make_stream({placement.priority, placement.units});
    if (mode.flush) trial.flush = device.allocate(flush_bytes(device.info()));
    trials_.push_back(std::move(trial));
  }
}

void StreamTrial::run_ungated() {
  team_.each([&](Rank& rank) {
    for (int call = 0; call < ungated_calls(team_); ++call) {
      Stream& stream = *trial(rank).stream;
      enqueue_in_range(work_, rank, stream);
      stream.synchronize(mode_.deadline_seconds);
    }
  });
}

bool StreamTrial::stop() const {
  if (team_.processes() != nullptr) return stop_agreed_;
  return stop_ && stop_();
}

StreamTrial::~StreamTrial() {
  gate_.open();
  std::vector<Stream*> streams;
  for (RankTrial& each : trials_) streams.push_back(each.stream.get());
  run_dry(team_.machine(), streams, mode_.deadline_seconds);
}

void StreamTrial::reading(std::vector<Telemetry>& readings) {
  const auto telemetry = team_.local_rank(0).device.telemetry();
  if (telemetry) readings.push_back(*telemetry);
}

std::vector<double> StreamTrial::run(int iterations, bool grouped) {
  for (RankTrial& each : trials_) each.seconds.clear();
  const double begin = team_.machine().now();
  team_.each([&](Rank& rank) { run_on(rank, iterations, grouped); });
  std::vector<double> slowest = trials_.front().seconds;
  for (const RankTrial& each : trials_) {
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      slowest[i] = std::max(slowest[i], each.seconds[i]);
    }
  }
  if (team_.processes() != nullptr) agree(slowest, team_.machine().now() - begin);
  return slowest;
}

double StreamTrial::now() {
  return team_.processes() != nullptr ? agreed_seconds_ : team_.machine().now();
}

// Makes the inputs of the loop's decisions equal in all processes: the slowest samples, the elapsed
// time and the wish to stop.
void StreamTrial::agree(std::vector<double>& slowest, double elapsed) {
  std::vector<double> figures = slowest;
  figures.push_back(elapsed);
  figures.push_back(stop_ && stop_() ? 1 : 0);
  const std::size_t bytes = figures.size() * sizeof(double);
  const std::string mine(reinterpret_cast<const char*>(figures.data()), bytes);
  for (const std::string& each : team_.processes()->gather_all(
           mine, "all processes to send their times", mode_.deadline_seconds)) {
    if (each.size() != bytes) throw Error("processes disagree on the number of iterations");
    for (std::size_t i = 0; i < figures.size(); ++i) {
      double figure = 0;
      std::memcpy(&figure, each.data() + i * sizeof figure, sizeof figure);
      figures[i] = std::max(figures[i], figure);
    }
  }
  stop_agreed_ = figures.back() > 0;
  figures.pop_back();
  agreed_seconds_ += figures.back();
  figures.pop_back();
  slowest = figures;
}

// Several ranks start every sample together behind the gate; a single rank runs its samples back to
// back.
void StreamTrial::run_on(Rank& rank, int iterations, bool grouped) {
  if (grouped && mode_.flush) return run_flushed_group(rank, iterations);
  if (grouped) return run_batch(rank, 1, iterations);
  if (rank.size == 1) return run_batch(rank, iterations, 1);
  for (int i = 0; i < iterations; ++i) run_batch(rank, 1, 1);
}

// The cache is flushed between the calls. The flush must not count, so each call has its own
// events.
void StreamTrial::run_flushed_group(Rank& rank, int enqueues) {
  run_batch(rank, enqueues, 1);
  std::vector<double>& seconds = trial(rank).seconds;
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  seconds = {sum / static_cast<double>(enqueues)};
}

void StreamTrial::run_batch(Rank& rank, int samples, int enqueues) {
  RankTrial& own = trial(rank);
  const std::size_t count = static_cast<std::size_t>(samples);
  while (own.starts.size() < count) {
    own.starts.push_back(rank.device.make_event());
    own.ends.push_back(rank.device.make_event());
  }
  bool held = !work_.host_driven();
  if (held) {
    gate_.hold(rank, *own.stream, mode_.deadline_seconds);
  } else {
    team_.barrier("all ranks to start", mode_.deadline_seconds);
  }
  const auto open_gate = [&] {
    if (held) gate_.release(rank, mode_.deadline_seconds);
    held = false;
  };
  enqueue_batch(rank, samples, enqueues, open_gate);
  open_gate();
  own.stream->synchronize(mode_.deadline_seconds);
  for (std::size_t i = 0; i < count; ++i) {
    own.seconds.push_back(own.ends[i]->seconds_since(*own.starts[i]) /
                          (static_cast<double>(enqueues) * work_.calls()));
  }
}

void StreamTrial::enqueue_batch(Rank& rank, int samples, int enqueues,
                                const std::function<void()>& open_gate) {
  RankTrial& own = trial(rank);
  int queued = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i) {
    if (mode_.flush) {
      own.stream->fill(own.flush.span(), {FillKind::constant, i & 0xFF, 0, DType::fp32});
    }
    own.stream->record(*own.starts[i]);
    for (int done = 0; done < enqueues; ++done) {
      if (queued++ == work_.most_queued()) open_gate();
      enqueue_in_range(work_, rank, *own.stream);
    }
    own.stream->record(*own.ends[i]);
  }
}

}  // namespace duet
