#include "collectives/schedule/stream_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <utility>

#include "core/units.h"

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

// "wait for rank 1, rank 2"; of semaphores that are of no rank, their names.
std::string text_of(const RankSchedule& schedule, const char* what,
                    const std::vector<SemaphoreAt>& semaphores, int SemaphoreAt::*rank) {
  std::set<std::string> names;
  for (const SemaphoreAt& each : semaphores) {
    const SemaphoreGroup& group = schedule.semaphores[index_of(each.group)];
    if (group.of_wire) {
      names.insert("the network");
    } else {
      names.insert(group.for_every_rank ? fmt::format("rank {}", each.*rank) : group.name);
    }
  }
  return names.empty() ? "" : fmt::format("{} {}", what, fmt::join(names, ", "));
}

std::string handshake_text(const RankSchedule& schedule, const StreamCall& call) {
  const std::string signals = text_of(schedule, "signal", call.signals, &SemaphoreAt::owner);
  const std::string waits = text_of(schedule, "wait for", call.waits, &SemaphoreAt::peer);
  return signals + (signals.empty() || waits.empty() ? "" : ", ") + waits;
}

std::string copy_text(int self, const StepCopy& copy) {
  std::string text = "copy " + format_bytes(copy.to.bytes);
  if (copy.from.rank != self) text += fmt::format(" from rank {}", copy.from.rank);
  if (copy.to.rank != self) text += fmt::format(" to rank {}", copy.to.rank);
  return text;
}

std::string wire_text(const RankSchedule& schedule, const WireCall& call) {
  if (call.kind == WireCall::Kind::begin) return "begin messages";
  if (call.kind == WireCall::Kind::end) return "wait for messages";
  const WireMessages& wire = schedule.wires[index_of(call.wire)];
  return fmt::format("send message to rank {}", wire.messages[index_of(call.message)].to);
}

}  // namespace

std::string text_of(const RankSchedule& schedule, const StreamCall& call) {
  const Step& step = schedule.steps[index_of(call.step)];
  switch (call.kind) {
    case StreamCall::Kind::handshake:
      return handshake_text(schedule, call);
    case StreamCall::Kind::copy:
      return copy_text(schedule.rank, step.copies[call.copy]);
    case StreamCall::Kind::kernel:
      return step.kernel.packets.empty() ? "kernel" : "packet kernel";
    case StreamCall::Kind::wire:
      return wire_text(schedule, *step.wire);
    case StreamCall::Kind::wait:
      return fmt::format("wait for stream {}", schedule.steps[index_of(call.step)].lane);
    case StreamCall::Kind::record:
    case StreamCall::Kind::compute:
    case StreamCall::Kind::rows:
      break;
  }
  return "";
}

std::vector<StreamCall> stream_calls(const RankSchedule& schedule) {
  return StreamCalls(schedule).all();
}

}  // namespace duet
