#include "collectives/schedule/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "collectives/schedule/contents.h"
#include "collectives/schedule/message_steps.h"
#include "collectives/schedule/packet_steps.h"
#include "collectives/schedule/step_order.h"

namespace duet {
namespace {

// Whether the step may access memory of the rank: of its node, or by messages.
bool reaches(const RankSchedule& schedule, int step, int rank) {
  return schedule.steps[index_of(step)].by_wire ||
         number_in(schedule.node, rank) < mapped_ranks(schedule);
}

std::string fault_of_semaphores(const RankSchedule& schedule, int step,
                                const std::vector<SemaphoreAt>& list, bool waits) {
  for (const SemaphoreAt& each : list) {
    const auto in = [](int number, int count) { return number >= 0 && number < count; };
    const bool exists =
        in(each.group, static_cast<int>(schedule.semaphores.size())) &&
        in(each.owner, schedule.ranks) && in(each.peer, schedule.ranks) &&
        in(each.index, schedule.semaphores[index_of(each.group)].count) &&
        (each.peer == 0 || schedule.semaphores[index_of(each.group)].for_every_rank);
    if (!exists) {
      return fmt::format(
          "step {} of rank {}: a semaphore that does not exist: number {} of group {}, of rank {} "
          "for rank {}, of {} groups and {} ranks",
          step, schedule.rank, each.index, each.group, each.owner, each.peer,
          schedule.semaphores.size(), schedule.ranks);
    }
    const bool wires = schedule.semaphores[index_of(each.group)].of_wire;
    if ((waits || wires) && each.owner != schedule.rank) {
      return fmt::format("step {} of rank {}: {} {}, which is not its own", step, schedule.rank,
                         waits ? "waits for" : "signals", text_of(schedule, each));
    }
    if (!reaches(schedule, step, each.owner)) {
      return fmt::format("step {} of rank {}: signals {}, which is on another node", step,
                         schedule.rank, text_of(schedule, each));
    }
  }
  return "";
}

// `blocks`: the words that each of these semaphores has.
std::string fault_of_words(const RankSchedule& schedule, int step,
                           const std::vector<SemaphoreAt>& list, int blocks) {
  for (const SemaphoreAt& each : list) {
    const int words = schedule.semaphores[index_of(each.group)].blocks;
    if (words == blocks) continue;
    return fmt::format("step {} of rank {}: {} has {} words for blocks, expected {}", step,
                       schedule.rank, text_of(schedule, each), words, blocks);
  }
  return "";
}

std::string fault_of_barriers(const RankSchedule& schedule, int step) {
  const StepKernel& kernel = schedule.steps[index_of(step)].kernel;
  if (!kernel.barriers || !(kernel.barriers->opens || kernel.barriers->closes)) return "";
  const auto waits = barrier_waits(schedule, *kernel.barriers);
  std::string fault = fault_of_semaphores(schedule, step, waits, true);
  if (fault.empty()) fault = fault_of_words(schedule, step, waits, kernel.blocks);
  if (!fault.empty() || waits.empty()) return fault;
  const SemaphoreGroup& group = schedule.semaphores[index_of(kernel.barriers->group)];
  if (group.counts && group.for_every_rank && group.count == 1) return "";
  return fmt::format("step {} of rank {}: {} is not for barriers", step, schedule.rank, group.name);
}

std::string fault_of_semaphores(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  std::string fault = fault_of_barriers(schedule, step);
  const auto check = [&](const std::vector<SemaphoreAt>& list, bool waits, int blocks) {
    if (fault.empty()) fault = fault_of_semaphores(schedule, step, list, waits);
    if (fault.empty()) fault = fault_of_words(schedule, step, list, blocks);
  };
  check(one.waits, true, 0);
  check(one.signals, false, 0);
  const int blocks = one.kernel.by_block ? one.kernel.blocks : 0;
  for (const StepItem& item : one.kernel.items) {
    check(item.waits, true, blocks);
    check(item.signals, false, blocks);
  }
  return fault;
}

// The plan maps receive buffers of other ranks of the node where the schedule says so, slots, and
// nothing else.
std::string fault_of_places(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  std::vector<Place> places;
  for (const StepCopy& copy : one.copies) places.insert(places.end(), {copy.to, copy.from});
  if (one.rows && one.rows->place.rank != schedule.rank) {
    return fmt::format("step {} of rank {}: multiplies rows of rank {}, expected its own", step,
                       schedule.rank, one.rows->place.rank);
  }
  for (const StepItem& item : one.kernel.items) {
    places.insert(places.end(), item.targets.begin(), item.targets.end());
    places.insert(places.end(), item.sources.begin(), item.sources.end());
  }
  for (const Place& each : places) {
    const bool mapped =
        each.buffer == BufferRole::slots ||
        (each.buffer == BufferRole::recv && schedule.pushes_to_recv) ||
        (each.buffer == BufferRole::send && (schedule.reads_send || schedule.pushes_to_send));
    const bool is_reached = reaches(schedule, step, each.rank);
    if (each.rank == schedule.rank || (is_reached && (mapped || one.by_wire))) continue;
    if (!is_reached) {
      return fmt::format("step {} of rank {} accesses what is on another node: {}", step,
                         schedule.rank, text_of(each));
    }
    const char* const missing =
        each.buffer == BufferRole::recv ? "pushes_to_recv" : "reads_send or pushes_to_send";
    return fmt::format("step {} of rank {} accesses what is not mapped: {}: {} is not set", step,
                       schedule.rank, text_of(each), missing);
  }
  return "";
}

bool alike(const RankSchedule& one, const RankSchedule& other) {
  const auto same = [](const SemaphoreGroup& a, const SemaphoreGroup& b) {
    return (a.count == b.count || a.of_wire) && a.initial == b.initial &&
           a.only_for_speed == b.only_for_speed && a.for_every_rank == b.for_every_rank &&
           a.blocks == b.blocks && a.counts == b.counts && a.of_wire == b.of_wire;
  };
  return one.ranks == other.ranks && one.slot_bytes == other.slot_bytes &&
         one.pushes_to_recv == other.pushes_to_recv && one.reads_send == other.reads_send &&
         one.pushes_to_send == other.pushes_to_send &&
         one.may_share_memory == other.may_share_memory && one.node.size() == other.node.size() &&
         one.wires.size() == other.wires.size() && one.incoming_bytes == other.incoming_bytes &&
         sends_packets(one) == sends_packets(other) &&
         std::equal(one.semaphores.begin(), one.semaphores.end(), other.semaphores.begin(),
                    other.semaphores.end(), same);
}

// That events alone tie every lane to the caller's stream.
std::string fault_of_lanes(const RankSchedule& schedule) {
  const int count = static_cast<int>(schedule.steps.size());
  std::vector<std::vector<int>> earlier(index_of(count));
  std::vector<int> last;  // by lane
  for (int step = 0; step < count; ++step) {
    const Step& one = schedule.steps[index_of(step)];
    last.resize(std::max(last.size(), index_of(one.lane) + 1), -1);
    if (last[index_of(one.lane)] >= 0) earlier[index_of(step)].push_back(last[index_of(one.lane)]);
    last[index_of(one.lane)] = step;
    for (const auto* list : {&one.after, &one.after_for_speed}) {
      for (const int after : *list) {
        if (after < 0 || after >= step) {
          return fmt::format("step {} of rank {} is after step {}, which is not enqueued before it",
                             step, schedule.rank, after);
        }
        if (list == &one.after) earlier[index_of(step)].push_back(after);
      }
    }
  }
  std::vector<bool> forked(index_of(count)), joined(index_of(count));
  for (int step = 0; step < count; ++step) {
    forked[index_of(step)] = schedule.steps[index_of(step)].lane == 0;
    for (const int before : earlier[index_of(step)])
      forked[index_of(step)] = forked[index_of(step)] || forked[index_of(before)];
    if (!forked[index_of(step)]) {
      return fmt::format("step {} of rank {}: its lane does not fork from the caller's stream",
                         step, schedule.rank);
    }
  }
  for (int step = count - 1; step >= 0; --step) {
    if (schedule.steps[index_of(step)].lane == 0) joined[index_of(step)] = true;
    if (!joined[index_of(step)]) {
      return fmt::format("step {} of rank {}: its lane does not join the caller's stream", step,
                         schedule.rank);
    }
    for (const int before : earlier[index_of(step)]) joined[index_of(before)] = true;
  }
  return "";
}

std::string fault_of_compute(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  if (!one.compute && !one.rows) return "";
  const bool alone = (one.rows || one.lane == 0) && one.waits.empty() && one.copies.empty() &&
                     one.kernel.is_none() && !one.wire && one.signals.empty() &&
                     !(one.compute && one.rows);
  if (alone) return "";
  return fmt::format(
      "step {} of rank {}: expected the caller's compute on its stream, with nothing else", step,
      schedule.rank);
}

std::string fault_of_steps(const RankSchedule& schedule) {
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    std::string fault = fault_of_semaphores(schedule, step);
    if (fault.empty()) fault = fault_of_compute(schedule, step);
    if (fault.empty()) fault = fault_of_places(schedule, step);
    if (!fault.empty()) return fault;
  }
  return fault_of_lanes(schedule);
}

// Semaphores that count are for the barriers of one kernel, whose items have no others. (Packets as
// items have both: packet_steps.h.)
std::string fault_of_counts(const RankSchedule& schedule) {
  std::vector<int> kernels(schedule.semaphores.size(), 0);  // by group
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    const Step& one = schedule.steps[index_of(step)];
    std::vector<SemaphoreAt> used = one.waits;
    used.insert(used.end(), one.signals.begin(), one.signals.end());
    for (const StepItem& item : one.kernel.items) {
      used.insert(used.end(), item.waits.begin(), item.waits.end());
      used.insert(used.end(), item.signals.begin(), item.signals.end());
      if (!one.kernel.barriers || (item.waits.empty() && item.signals.empty())) continue;
      return fmt::format("step {} of rank {}: items of a kernel with barriers have semaphores",
                         step, schedule.rank);
    }
    for (const SemaphoreAt& each : used) {
      if (!schedule.semaphores[index_of(each.group)].counts) continue;
      return fmt::format("step {} of rank {}: {} counts, and is for barriers alone", step,
                         schedule.rank, text_of(schedule, each));
    }
    if (!one.kernel.barriers) continue;
    const int group = one.kernel.barriers->group;
    if (group < 0 || index_of(group) >= kernels.size() || ++kernels[index_of(group)] == 1) continue;
    return fmt::format("step {} of rank {}: {} counts the calls of another kernel", step,
                       schedule.rank, schedule.semaphores[index_of(group)].name);
  }
  return "";
}

std::string fault_of_groups(const RankSchedule& schedule) {
  for (const SemaphoreGroup& group : schedule.semaphores) {
    if (group.initial != 0 && (group.blocks > 0 || group.counts)) {
      return fmt::format("rank {}: {} begins with {}, expected 0", schedule.rank, group.name,
                         group.initial);
    }
    if (schedule.may_share_memory && group.counts) {
      return fmt::format("rank {}: {} counts, and cannot be shared", schedule.rank, group.name);
    }
  }
  return "";
}

// Contents are sums of bytes; that kernels reduce the collective's elements by its operation is
// looked at here.
std::string fault_of_elements(const Collective& collective, const RankSchedule& schedule) {
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    const StepKernel& kernel = schedule.steps[index_of(step)].kernel;
    const bool adds = std::any_of(kernel.items.begin(), kernel.items.end(),
                                  [](const StepItem& item) { return item.sources.size() > 1; });
    const bool same = kernel.dtype == collective.dtype && kernel.op == collective.op;
    if (!adds || same) continue;
    return fmt::format("step {} of rank {} reduces {} by {}, expected {} by {}", step,
                       schedule.rank, name(kernel.dtype), name(kernel.op), name(collective.dtype),
                       name(collective.op));
  }
  return "";
}

std::string fault_of_reads(const CollectiveSchedule& schedule) {
  std::vector<std::uint64_t> read(schedule.ranks.size(), 0);
  for (const RankSchedule& each : schedule.ranks) {
    for (const Step& step : each.steps) {
      for (const StepCopy& copy : step.copies) {
        if (copy.from.rank != each.rank) read[index_of(copy.from.rank)] += copy.from.bytes;
      }
      for (const StepItem& item : step.kernel.items) {
        for (const Place& source : item.sources) {
          const bool adds =
              std::find(item.targets.begin(), item.targets.end(), source) != item.targets.end();
          if (source.rank != each.rank && !adds) read[index_of(source.rank)] += source.bytes;
        }
      }
    }
  }
  for (const RankSchedule& each : schedule.ranks) {
    if (read[index_of(each.rank)] == each.read_by_others) continue;
    return fmt::format("rank {} counts {} bytes that others read, which are {}", each.rank,
                       each.read_by_others, read[index_of(each.rank)]);
  }
  return "";
}

std::string fault_of_form(const CollectiveSchedule& schedule) {
  for (const RankSchedule& each : schedule.ranks) {
    if (!alike(each, schedule.ranks.front())) {
      return fmt::format("rank {} has other semaphores, slots or mappings than rank 0", each.rank);
    }
    std::string fault = fault_of_steps(each);
    if (fault.empty()) fault = fault_of_messages(each);
    if (!fault.empty()) return fault;
  }
  std::string fault = fault_of_messages(schedule.ranks);
  return fault.empty() ? fault_of_reads(schedule) : fault;
}

// Each choice of what the calls have for speed that they may do without: edges for speed must not
// be what pairs signals for speed, or the other way round.
std::vector<SpeedParts> choices_without(const CheckedCalls& calls) {
  SpeedParts has{false, false};
  for (const CollectiveSchedule* call : calls.order) {
    for (const RankSchedule& each : call->ranks) {
      const SpeedParts parts = speed_parts_of(each);
      has = {has.edges || parts.edges, has.semaphores || parts.semaphores};
    }
  }
  std::vector<SpeedParts> choices = {{false, false}};
  if (has.edges) choices.push_back({true, false});
  if (has.semaphores) choices.push_back({false, true});
  if (has.edges && has.semaphores) choices.push_back({true, true});
  return choices;
}

std::string fault_without(const SpeedParts& parts, const CheckedCalls& calls) {
  std::map<const CollectiveSchedule*, CollectiveSchedule> rest;
  CheckedCalls left{{}, calls.shared_memory, calls.alternate};
  for (const CollectiveSchedule* call : calls.order) {
    const auto [found, is_new] = rest.emplace(call, *call);
    CollectiveSchedule& schedule = found->second;
    if (is_new) {
      for (RankSchedule& rank : schedule.ranks) {
        rank = with_messages_as_steps(without(parts, std::move(rank)));
      }
    }
    left.order.push_back(&schedule);
  }
  StepOrder order(left);
  std::string fault = order.fault();
  return fault.empty() ? fault_of_contents(left, order) : fault;
}

}  // namespace

std::string fault_of(const CheckedCalls& calls) {
  for (const CollectiveSchedule* each : calls.order) {
    std::string fault = fault_of_form(*each);
    if (!fault.empty()) return fault;
  }
  for (const SpeedParts& parts : choices_without(calls)) {
    std::string fault = fault_without(parts, calls);
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string fault_of_form(const RankSchedule& schedule) {
  std::string fault = fault_of_groups(schedule);
  if (fault.empty()) fault = fault_of_steps(schedule);
  if (fault.empty()) fault = fault_of_messages(schedule);
  return fault.empty() ? fault_of_counts(schedule) : fault;
}

std::string fault_of(const CollectiveSchedule& schedule) {
  for (const RankSchedule& each : schedule.ranks) {
    std::string fault = fault_of_form(each);
    if (fault.empty()) fault = fault_of_elements(schedule.collective, each);
    if (!fault.empty()) return fault;
  }
  if (schedule.collective.neighbors.alternating) {
    const CollectiveSchedule other = schedule;
    return fault_of(CheckedCalls{{&schedule, &other, &schedule, &other}, false, true});
  }
  std::string fault = fault_of(CheckedCalls{{&schedule, &schedule}, false, false});
  if (!fault.empty() || schedule.ranks.empty() || !sends_packets(schedule.ranks.front())) {
    return fault;
  }
  fault = fault_of_packets(schedule);
  if (!fault.empty()) return fault;
  CollectiveSchedule first = schedule, second = schedule;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    first.ranks[rank] = with_packets_as_items(schedule.ranks[rank], 0);
    second.ranks[rank] = with_packets_as_items(schedule.ranks[rank], 1);
  }
  return fault_of(CheckedCalls{{&first, &second, &first}, true, false});
}

}  // namespace duet
