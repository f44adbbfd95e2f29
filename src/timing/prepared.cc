#include "timing/prepared.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "core/deadline.h"
#include "core/profiler_range.h"

namespace duet {

Prepared::Prepared(Team& team, Work& work, const Placement& placement) : team_(team), work_(work) {
  try {
    team_.each([&](Rank& rank) { work_.prepare(rank, placement); });
  } catch (...) {
    release();
    throw;
  }
}

void Prepared::release() noexcept {
  for (int local = 0; local < team_.local_size(); ++local) {
    Rank rank = team_.local_rank(local);
    work_.release(rank);
  }
}

void enqueue_in_range(Work& work, Rank& rank, Stream& stream) {
  const ProfilerRange range([&work] { return work.name(); });
  work.enqueue(rank, stream);
}

std::string verify(Team& team, Work& work) {
  std::mutex mutex;
  std::string reason;
  team.each([&](Rank& rank) {
    if (const auto skipped = work.verify(rank)) {
      const std::lock_guard<std::mutex> lock(mutex);
      reason = skipped->reason;
    }
  });
  if (team.processes() == nullptr) return reason;
  for (const std::string& each :
       team.processes()->gather_all(reason, "all processes to verify", kDefaultDeadlineSeconds)) {
    if (!each.empty()) return each;
  }
  return "";
}

void run_dry(Machine& machine, const std::vector<Stream*>& streams,
             double deadline_seconds) noexcept {
  const double until = machine.now() + deadline_seconds;
  for (Stream* stream : streams) {
    try {
      stream->synchronize(std::max(0.0, until - machine.now()));
      stream->device().finish(std::max(0.0, until - machine.now()));
    } catch (const std::exception&) {
      // The error that ended the measurement is already being thrown.
    }
  }
}

}  // namespace duet
