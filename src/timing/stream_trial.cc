// Iterations between events, gated, with the cache flushed before each where that is asked for.
#include "timing/stream_trial.h"

#include <algorithm>
#include <numeric>

namespace duet {
namespace {

// What is written to drive earlier data out of a cache of this size: twice of it, since caches do
// not replace strictly in order of age.
std::uint64_t flush_bytes(const DeviceInfo& info) { return 2 * info.cache_bytes; }

}  // namespace

StreamTrial::StreamTrial(Team& team, Work& work, const Mode& mode, const Placement& placement)
    : team_(team), work_(work), mode_(mode), gate_(team) {
  for (int rank = 0; rank < team.size(); ++rank) {
    Device& device = team.device(rank);
    Lane lane;
    lane.stream = device.make_stream({placement.priority});
    if (mode.flush) lane.flush = device.allocate(flush_bytes(device.info()));
    lanes_.push_back(std::move(lane));
  }
}

void StreamTrial::run_ungated() {
  team_.each([&](Rank& rank) {
    Stream& stream = *lane(rank).stream;
    work_.enqueue(rank, stream);
    stream.synchronize(mode_.deadline_seconds);
  });
}

StreamTrial::~StreamTrial() {
  gate_.open();
  for (Lane& each : lanes_) {
    try {
      each.stream->synchronize(mode_.deadline_seconds);
    } catch (const std::exception&) {
      // The error that ended the measurement is on its way already.
    }
  }
}

void StreamTrial::reading(std::vector<Telemetry>& readings) {
  if (const auto telemetry = team_.device(0).telemetry()) readings.push_back(*telemetry);
}

std::vector<double> StreamTrial::run(int iterations, bool grouped) {
  for (Lane& each : lanes_) each.seconds.clear();
  team_.each([&](Rank& rank) { run_on(rank, iterations, grouped); });
  std::vector<double> slowest = lanes_.front().seconds;
  for (const Lane& each : lanes_) {
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      slowest[i] = std::max(slowest[i], each.seconds[i]);
    }
  }
  return slowest;
}

// Ranks of a team start every sample together; a single rank has no one to wait for and runs its
// samples back to back.
void StreamTrial::run_on(Rank& rank, int iterations, bool grouped) {
  if (grouped && mode_.flush) return run_flushed_group(rank, iterations);
  if (grouped) return run_batch(rank, 1, iterations);
  if (rank.size == 1) return run_batch(rank, iterations, 1);
  for (int i = 0; i < iterations; ++i) run_batch(rank, 1, 1);
}

// The flush stands between the calls and must not count: each call has its own events.
void StreamTrial::run_flushed_group(Rank& rank, int calls) {
  run_batch(rank, calls, 1);
  std::vector<double>& seconds = lane(rank).seconds;
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  seconds = {sum / static_cast<double>(calls)};
}

void StreamTrial::run_batch(Rank& rank, int samples, int calls) {
  Lane& own = lane(rank);
  const std::size_t count = static_cast<std::size_t>(samples);
  while (own.starts.size() < count) {
    own.starts.push_back(rank.device.make_event());
    own.ends.push_back(rank.device.make_event());
  }
  if (work_.host_driven()) {
    team_.barrier("all ranks to start", mode_.deadline_seconds);
  } else {
    gate_.hold(rank, *own.stream, mode_.deadline_seconds);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (mode_.flush) {
      own.stream->fill(own.flush.span(), {Fill::Kind::constant, i & 0xFF, 0, DType::fp32});
    }
    own.stream->record(*own.starts[i]);
    for (int call = 0; call < calls; ++call) work_.enqueue(rank, *own.stream);
    own.stream->record(*own.ends[i]);
  }
  if (!work_.host_driven()) gate_.release(rank, mode_.deadline_seconds);
  own.stream->synchronize(mode_.deadline_seconds);
  for (std::size_t i = 0; i < count; ++i) {
    own.seconds.push_back(own.ends[i]->seconds_since(*own.starts[i]) / calls);
  }
}

}  // namespace duet
