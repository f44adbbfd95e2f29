#include "collectives/schedule/message_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace duet {
namespace {

class MessageSteps {
 public:
  explicit MessageSteps(const RankSchedule& schedule) : of_(schedule), result_(schedule) {
    result_.steps.clear();
    result_.wires.clear();
    for (SemaphoreGroup& group : result_.semaphores) group.of_wire = false;
    for (const Step& step : of_.steps) lanes_ = std::max(lanes_, step.lane + 1);
    for (const WireMessages& wire : of_.wires) {
      SemaphoreGroup group{"open", static_cast<int>(wire.messages.size())};
      group.for_every_rank = false;
      open_.push_back(static_cast<int>(result_.semaphores.size()));
      result_.semaphores.push_back(std::move(group));
    }
    begun_.resize(of_.wires.size(), 0);
    sent_.resize(of_.wires.size());
  }

  RankSchedule all() {
    for (Step step : of_.steps) {
      for (auto* list : {&step.after, &step.after_for_speed}) {
        for (int& earlier : *list) earlier = number_of_[index_of(earlier)];
      }
      const std::optional<WireCall> call = std::exchange(step.wire, std::nullopt);
      if (call && call->kind == WireCall::Kind::send) {
        number_of_.push_back(last_of_main_);
        send(*call);
        continue;
      }
      if (call) by_wire(step, *call);
      number_of_.push_back(static_cast<int>(result_.steps.size()));
      if (step.lane == 0) last_of_main_ = number_of_.back();
      result_.steps.push_back(std::move(step));
    }
    return std::move(result_);
  }

 private:
  const WireMessages& wire_of(const WireCall& call) const { return of_.wires[index_of(call.wire)]; }

  void by_wire(Step& step, const WireCall& call) {
    step.by_wire = true;
    if (call.kind == WireCall::Kind::end) step.after = sent_[index_of(call.wire)];
    if (call.kind != WireCall::Kind::begin) return;
    begun_[index_of(call.wire)] = static_cast<int>(result_.steps.size());
    int number = 0;
    for (const StepMessage& message : wire_of(call).messages) {
      step.signals.push_back({open_[index_of(call.wire)], message.from, 0, number++});
    }
  }

  // The caller's stream gets nothing.
  void send(const WireCall& call) {
    const WireMessages& wire = wire_of(call);
    const StepMessage& message = wire.messages[index_of(call.message)];
    const int rank = of_.rank;
    Step step;
    step.by_wire = true;
    step.lane = lanes_++;
    step.after = {begun_[index_of(call.wire)]};
    step.waits = {{open_[index_of(call.wire)], rank, 0, call.message}};
    if (message.staged) step.waits.push_back({wire.go, rank, 0, call.message});
    for (const StepMessagePiece& piece : message.pieces) {
      step.copies.push_back({piece.target, piece.source, Executor::dma, {}});
    }
    step.signals = {{wire.come, message.to, 0, call.message}};
    if (message.tells_gone) step.signals.push_back({wire.gone, rank, 0, call.message});
    sent_[index_of(call.wire)].push_back(static_cast<int>(result_.steps.size()));
    result_.steps.push_back(std::move(step));
  }

  const RankSchedule& of_;
  RankSchedule result_;
  int lanes_ = 1, last_of_main_ = 0;
  std::vector<int> number_of_;          // by step: in the result, what later ones are behind
  std::vector<int> open_, begun_;       // by wire
  std::vector<std::vector<int>> sent_;  // by wire
};

std::string fault_of_order(const RankSchedule& schedule) {
  std::vector<int> next(schedule.wires.size(), -1);  // by wire: the call that is to come
  for (const Step& step : schedule.steps) {
    if (!step.wire) continue;
    if (index_of(step.wire->wire) >= next.size()) {
      return fmt::format("rank {} calls wire {} of {}", schedule.rank, step.wire->wire,
                         next.size());
    }
    const int messages =
        static_cast<int>(schedule.wires[index_of(step.wire->wire)].messages.size());
    int& now = next[index_of(step.wire->wire)];
    const int call = step.wire->kind == WireCall::Kind::begin ? -1
                     : step.wire->kind == WireCall::Kind::end ? messages
                                                              : step.wire->message;
    const bool alone = step.lane == 0 && step.after.empty() && step.waits.empty() &&
                       step.copies.empty() && step.kernel.is_none() && step.signals.empty();
    if (call != now || !alone) {
      return fmt::format(
          "rank {}: expected wires to begin, send messages 0, 1 ... and end, each in a step of the "
          "caller's stream with nothing else",
          schedule.rank);
    }
    ++now;
  }
  for (std::size_t wire = 0; wire < next.size(); ++wire) {
    if (next[wire] == static_cast<int>(schedule.wires[wire].messages.size()) + 1) continue;
    return fmt::format("rank {}: wire {} does not end", schedule.rank, wire);
  }
  return "";
}

// Each message has a semaphore of each kind. `gone` says when a staged source is free again.
std::string fault_of_wire_semaphores(const RankSchedule& schedule, const WireMessages& wire) {
  const int messages = static_cast<int>(wire.messages.size());
  for (const int group : {wire.go, wire.gone, wire.come}) {
    const bool exists = group >= 0 && index_of(group) < schedule.semaphores.size();
    if (exists && schedule.semaphores[index_of(group)].of_wire &&
        schedule.semaphores[index_of(group)].count == messages) {
      continue;
    }
    return fmt::format("rank {}: group {} is not for the {} messages of a wire", schedule.rank,
                       group, messages);
  }
  for (const StepMessage& message : wire.messages) {
    if (message.staged || !message.tells_gone) continue;
    return fmt::format("rank {}: a message to rank {} tells when it has gone, and is not staged",
                       schedule.rank, message.to);
  }
  return "";
}

std::string fault_of_pieces(const RankSchedule& schedule, const WireMessages& wire) {
  const BufferRole region = wire.to_incoming ? BufferRole::incoming : BufferRole::recv;
  for (const StepMessage& message : wire.messages) {
    for (const auto& [source, target] : message.pieces) {
      if (source.rank != schedule.rank || target.rank != message.to || target.buffer != region) {
        return fmt::format("rank {}: a message to rank {} in {} brings {} to {}", schedule.rank,
                           message.to, name(region), text_of(source), text_of(target));
      }
    }
  }
  return "";
}

// Whether the rank from which `expected` comes sends it.
bool is_sent(const std::vector<RankSchedule>& ranks, const StepMessage& expected, int to,
             std::size_t wire, std::size_t number) {
  if (expected.from < 0 || index_of(expected.from) >= ranks.size()) return false;
  const std::vector<StepMessage>& sent = ranks[index_of(expected.from)].wires[wire].messages;
  return number < sent.size() && sent[number].to == to &&
         std::equal(expected.arrivals.begin(), expected.arrivals.end(), sent[number].pieces.begin(),
                    sent[number].pieces.end(),
                    [](std::uint64_t bytes, const StepMessagePiece& piece) {
                      return bytes == piece.source.bytes;
                    });
}

}  // namespace

RankSchedule with_messages_as_steps(const RankSchedule& schedule) {
  return schedule.wires.empty() ? schedule : MessageSteps(schedule).all();
}

std::string fault_of_messages(const RankSchedule& schedule) {
  std::string fault = fault_of_order(schedule);
  for (const WireMessages& wire : schedule.wires) {
    if (fault.empty()) fault = fault_of_wire_semaphores(schedule, wire);
    if (fault.empty()) fault = fault_of_pieces(schedule, wire);
  }
  return fault;
}

std::string fault_of_messages(const std::vector<RankSchedule>& ranks) {
  for (const RankSchedule& each : ranks) {
    for (std::size_t wire = 0; wire < each.wires.size(); ++wire) {
      for (std::size_t i = 0; i < each.wires[wire].messages.size(); ++i) {
        const StepMessage& own = each.wires[wire].messages[i];
        if (is_sent(ranks, own, each.rank, wire, i)) continue;
        return fmt::format("rank {} expects message {} from rank {}, which sends another one",
                           each.rank, i, own.from);
      }
    }
  }
  return "";
}

}  // namespace duet
