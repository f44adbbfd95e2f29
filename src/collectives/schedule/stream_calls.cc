#include "collectives/schedule/stream_calls.h"

#include <map>
#include <set>
#include <utility>

namespace duet {
namespace {

// Steps that others wait for when their lanes have gone on: by then it is too late for an event.
std::set<int> awaited_later(const RankSchedule& schedule) {
  std::set<int> awaited;
  std::map<int, int> last;  // by lane
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    const Step& one = schedule.steps[index_of(step)];
    for (const auto* earlier : {&one.after, &one.after_for_speed}) {
      for (const int each : *earlier) {
        if (last[schedule.steps[index_of(each)].lane] != each) awaited.insert(each);
      }
    }
    last[one.lane] = step;
  }
  return awaited;
}

class StreamCalls {
 public:
  explicit StreamCalls(const RankSchedule& schedule) : schedule_(schedule) {}

  std::vector<StreamCall> all() {
    const std::set<int> awaited = awaited_later(schedule_);
    for (int step = 0; step < static_cast<int>(schedule_.steps.size()); ++step) {
      add(step);
      if (awaited.count(step) != 0) record(step);
    }
    return std::move(calls_);
  }

 private:
  using Kind = StreamCall::Kind;

  void add(int step) {
    const Step& one = schedule_.steps[index_of(step)];
    for (const auto* earlier : {&one.after, &one.after_for_speed}) {
      for (const int each : *earlier) {
        record(each);
        calls_.push_back({Kind::wait, one.lane, each, 0, {}, {}});
      }
    }
    add_handshake(step, {}, one.waits);
    for (std::size_t copy = 0; copy < one.copies.size(); ++copy) {
      calls_.push_back({Kind::copy, one.lane, step, copy, {}, {}});
    }
    if (!one.kernel.is_none()) calls_.push_back({Kind::kernel, one.lane, step, 0, {}, {}});
    if (one.wire) calls_.push_back({Kind::wire, one.lane, step, 0, {}, {}});
    if (one.compute) calls_.push_back({Kind::compute, one.lane, step, 0, {}, {}});
    if (one.rows) calls_.push_back({Kind::rows, one.lane, step, 0, {}, {}});
    add_handshake(step, one.signals, {});
  }

  void add_handshake(int step, const std::vector<SemaphoreAt>& signals,
                     const std::vector<SemaphoreAt>& waits) {
    if (signals.empty() && waits.empty()) return;
    const int lane = schedule_.steps[index_of(step)].lane;
    if (!calls_.empty() && calls_.back().lane == lane && signals.empty()) {
      StreamCall& last = calls_.back();
      if (last.kind == Kind::handshake && last.waits.empty()) {
        last.waits = waits;
        return;
      }
    }
    calls_.push_back({Kind::handshake, lane, step, 0, signals, waits});
  }

  // Only once.
  void record(int step) {
    if (!recorded_.insert(step).second) return;
    calls_.push_back({Kind::record, schedule_.steps[index_of(step)].lane, step, 0, {}, {}});
  }

  const RankSchedule& schedule_;
  std::vector<StreamCall> calls_;
  std::set<int> recorded_;
};

}  // namespace

std::vector<StreamCall> stream_calls(const RankSchedule& schedule) {
  return StreamCalls(schedule).all();
}

}  // namespace duet
