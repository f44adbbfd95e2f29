#include "collectives/schedule/step_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace duet {
namespace {

// The steps in an order in which each stands behind those that it starts behind; fewer than all
// where some wait for each other.
template <class Edges>
std::vector<int> sorted_by(const Edges& edges) {
  std::vector<int> missing(edges.size(), 0), sorted;
  std::vector<std::vector<int>> behind(edges.size());
  for (std::size_t step = 0; step < edges.size(); ++step) {
    missing[step] = static_cast<int>(edges[step].size());
    for (const auto& edge : edges[step])
      behind[index_of(edge.from)].push_back(static_cast<int>(step));
    if (missing[step] == 0) sorted.push_back(static_cast<int>(step));
  }
  for (std::size_t next = 0; next < sorted.size(); ++next) {
    for (const int step : behind[index_of(sorted[next])]) {
      if (--missing[index_of(step)] == 0) sorted.push_back(step);
    }
  }
  return sorted;
}

}  // namespace

StepOrder::StepOrder(const CheckedCalls& calls, bool whole_items)
    : calls_(calls), whole_items_(whole_items) {
  number_lanes();
  of_rank_.resize(first_lane_.size() - 1);
  for (std::size_t call = 0; call < calls.order.size(); ++call) {
    for (std::size_t rank = 0; rank < calls.order[call]->ranks.size(); ++rank) {
      add_rank(static_cast<int>(call), static_cast<int>(rank));
    }
  }
}

void StepOrder::number_lanes() {
  std::vector<int> lanes;  // by rank
  for (const CollectiveSchedule* one : calls_.order) {
    lanes.resize(std::max(lanes.size(), one->ranks.size()), 1);
    for (std::size_t rank = 0; rank < one->ranks.size(); ++rank) {
      for (const Step& step : one->ranks[rank].steps) {
        lanes[rank] = std::max(lanes[rank], step.lane + 1);
      }
    }
  }
  number_item_lanes(lanes);
  first_lane_ = {0};
  for (const int count : lanes) first_lane_.push_back(first_lane_.back() + count);
  last_of_lane_.assign(index_of(first_lane_.back()), -1);
}

// Those of each lane have lanes of their own, so that no two kernels are in order for this alone:
// one for each item that runs beside others, or one for the signals of items.
void StepOrder::number_item_lanes(std::vector<int>& lanes) {
  for (std::size_t rank = 0; rank < lanes.size(); ++rank) {
    std::vector<int> most(index_of(lanes[rank]), 0);
    for (const CollectiveSchedule* one : calls_.order) {
      if (rank >= one->ranks.size()) continue;
      for (const Step& step : one->ranks[rank].steps) {
        int& own = most[index_of(step.lane)];
        const int items = static_cast<int>(step.kernel.items.size());
        own = std::max(own, step.kernel.barriers ? items : std::min(items, 1));
      }
    }
    item_lanes_.emplace_back();
    for (const int items : most) {
      item_lanes_.back().push_back(lanes[rank]);
      lanes[rank] += items;
    }
  }
}

int StepOrder::add_step(int call, int rank, int step, int item, int lane) {
  const int number = static_cast<int>(steps_.size());
  const int global = first_lane_[index_of(rank)] + lane;
  int& last = last_of_lane_[index_of(global)];
  const int position = last < 0 ? 0 : steps_[index_of(last)].position + 1;
  steps_.push_back({call, rank, step, item, global, position});
  edges_.emplace_back();
  if (last >= 0) edges_.back().push_back({last, kNoSemaphore});
  last = number;
  of_rank_[index_of(rank)].push_back(number);
  return number;
}

// Behind the start, which is on the lane already. Returns the end.
int StepOrder::add_kernel(int call, int rank, int step) {
  const Step& one = calls_.order[index_of(call)]->ranks[index_of(rank)].steps[index_of(step)];
  const bool parts = in_parts(one.kernel);
  int last = -1;
  for (int item = 0; item < static_cast<int>(one.kernel.items.size()); ++item) {
    last = parts ? add_item(call, rank, step, item) : add_step(call, rank, step, item, one.lane);
  }
  const int end = add_step(call, rank, step, OrderedStep::kEnd, one.lane);
  if (parts && last >= 0) edges_.back().push_back({last, kNoSemaphore});
  return end;
}

bool StepOrder::in_parts(const StepKernel& kernel) const {
  return !whole_items_ && !kernel.barriers && !kernel.by_block;
}

// Returns its signals. That a semaphore is still 1 for an earlier item which awaits it, the kernel
// looks after itself (device/collective_kernel.h).
int StepOrder::add_item(int call, int rank, int step, int item) {
  const Step& one = calls_.order[index_of(call)]->ranks[index_of(rank)].steps[index_of(step)];
  const int waits = add_step(call, rank, step, item, one.lane), accesses = waits + 1;
  steps_.back().part = ItemPart::waits;
  // In the place of the signals, which alone are behind it, but not behind those before.
  steps_.push_back({call, rank, step, item, 0, 0, ItemPart::accesses});
  edges_.push_back({{waits, kNoSemaphore}});
  const int signals =
      add_step(call, rank, step, item, item_lanes_[index_of(rank)][index_of(one.lane)]);
  edges_.back().push_back({accesses, kNoSemaphore});
  steps_.back().part = ItemPart::signals;
  steps_[index_of(accesses)].lane = steps_.back().lane;
  steps_[index_of(accesses)].position = steps_.back().position;
  return signals;
}

int StepOrder::add_peer_kernel(int call, int rank, int step) {
  const Step& one = calls_.order[index_of(call)]->ranks[index_of(rank)].steps[index_of(step)];
  const KernelBarriers& barriers = *one.kernel.barriers;
  const auto add = [&](int part, int lane) { return add_step(call, rank, step, part, lane); };
  if (barriers.opens) add(OrderedStep::kSignal, one.lane);
  if (barriers.opens) add(OrderedStep::kWait, one.lane);
  const int begin = static_cast<int>(steps_.size()) - 1;
  std::vector<int> items;
  for (int item = 0; item < static_cast<int>(one.kernel.items.size()); ++item) {
    items.push_back(add(item, item_lanes_[index_of(rank)][index_of(one.lane)] + item));
    edges_.back().push_back({begin, kNoSemaphore});
  }
  const int behind = add(barriers.closes ? OrderedStep::kLastSignal : OrderedStep::kEnd, one.lane);
  for (const int item : items) edges_.back().push_back({item, kNoSemaphore});
  if (!barriers.closes) return behind;
  add(OrderedStep::kLastWait, one.lane);
  return add(OrderedStep::kEnd, one.lane);
}

void StepOrder::add_rank(int call, int rank) {
  const RankSchedule& schedule = calls_.order[index_of(call)]->ranks[index_of(rank)];
  add_step(call, rank, OrderedStep::kBefore, OrderedStep::kWhole, 0);
  std::vector<int> ends;  // by step
  for (int step = 0; step < static_cast<int>(schedule.steps.size()); ++step) {
    const Step& one = schedule.steps[index_of(step)];
    const bool has_kernel = !one.kernel.is_none();
    ends.push_back(add_step(call, rank, step,
                            has_kernel ? OrderedStep::kStart : OrderedStep::kWhole, one.lane));
    for (const auto* list : {&one.after, &one.after_for_speed}) {
      for (const int earlier : *list) {
        edges_.back().push_back({ends[index_of(earlier)], kNoSemaphore});
      }
    }
    if (!has_kernel) continue;
    ends.back() =
        one.kernel.barriers ? add_peer_kernel(call, rank, step) : add_kernel(call, rank, step);
  }
  add_step(call, rank, static_cast<int>(schedule.steps.size()), OrderedStep::kWhole, 0);
}

const Step* StepOrder::step_of(int step) const {
  const OrderedStep& one = steps_[index_of(step)];
  const auto& steps = calls_.order[index_of(one.call)]->ranks[index_of(one.rank)].steps;
  return one.step < 0 || index_of(one.step) >= steps.size() ? nullptr : &steps[index_of(one.step)];
}

namespace {

bool has(const OrderedStep& step, ItemPart part) {
  return step.part == ItemPart::all || step.part == part;
}

std::vector<SemaphoreAt> waits_of(const RankSchedule& schedule, const Step& step,
                                  const OrderedStep& now) {
  const int item = now.item;
  if (item >= 0 && !has(now, ItemPart::waits)) return {};
  if (item >= 0) return step.kernel.items[index_of(item)].waits;
  if (item == OrderedStep::kWhole || item == OrderedStep::kStart) return step.waits;
  if (item != OrderedStep::kWait && item != OrderedStep::kLastWait) return {};
  return barrier_waits(schedule, *step.kernel.barriers);
}

std::vector<SemaphoreAt> signals_of(const RankSchedule& schedule, const Step& step,
                                    const OrderedStep& now) {
  const int item = now.item;
  if (item >= 0 && !has(now, ItemPart::signals)) return {};
  if (item >= 0) return step.kernel.items[index_of(item)].signals;
  if (item == OrderedStep::kWhole || item == OrderedStep::kEnd) return step.signals;
  if (item != OrderedStep::kSignal && item != OrderedStep::kLastSignal) return {};
  return barrier_signals(schedule, *step.kernel.barriers);
}

}  // namespace

StepOrder::Uses& StepOrder::uses_of(int call, const RankSchedule& schedule,
                                    const SemaphoreAt& semaphore) {
  const SemaphoreGroup& group = schedule.semaphores[index_of(semaphore.group)];
  const Key key{calls_.shared_memory ? nullptr : calls_.order[index_of(call)], semaphore.group,
                semaphore.owner, semaphore.peer, semaphore.index};
  const auto [found, is_new] = known_.emplace(key, uses_.size());
  if (is_new) {
    uses_.push_back({duet::text_of(schedule, semaphore), group.initial, group.counts, {}, {}, {}});
  }
  return uses_[found->second];
}

// By rank in the order of its enqueueing.
void StepOrder::note_semaphores() {
  for (const auto& of_rank : of_rank_) {
    for (const int number : of_rank) {
      const OrderedStep& step = steps_[index_of(number)];
      const RankSchedule& schedule = calls_.order[index_of(step.call)]->ranks[index_of(step.rank)];
      const Step* const one = step_of(number);
      if (one == nullptr) continue;
      for (const SemaphoreAt& each : waits_of(schedule, *one, step)) {
        Uses& uses = uses_of(step.call, schedule, each);
        uses.waits.push_back(number);
        --uses.balance[step.call];
      }
      for (const SemaphoreAt& each : signals_of(schedule, *one, step)) {
        Uses& uses = uses_of(step.call, schedule, each);
        uses.signals.push_back(number);
        ++uses.balance[step.call];
      }
    }
  }
}

std::string StepOrder::pair_semaphores() {
  for (std::size_t index = 0; index < uses_.size(); ++index) {
    const Uses& uses = uses_[index];
    for (const auto& [call, balance] : uses.balance) {
      if (balance == 0) continue;
      return fmt::format("{}: call {} has {} {} than waits", uses.name, call, std::abs(balance),
                         balance > 0 ? "more signals" : "fewer signals");
    }
    for (const int signal : uses.signals) {
      if (steps_[index_of(signal)].rank == steps_[index_of(uses.signals.front())].rank) continue;
      return fmt::format("{}: signalled by two ranks, in {} and {}", uses.name,
                         text_of(uses.signals.front()), text_of(signal));
    }
    for (std::size_t wait = index_of(uses.initial); wait < uses.waits.size(); ++wait) {
      edges_[index_of(uses.waits[wait])].push_back(
          {uses.signals[wait - index_of(uses.initial)], static_cast<int>(index)});
    }
  }
  return "";
}

std::string StepOrder::fault() {
  note_semaphores();
  std::string fault = pair_semaphores();
  if (!fault.empty()) return fault;
  sorted_ = sorted_by(edges_);
  if (sorted_.size() < steps_.size()) return "deadlock: " + cycle_text(edges_, sorted_);
  set_clocks();
  fault = check_pairs();
  return fault.empty() ? check_queues() : fault;
}

void StepOrder::set_clocks() {
  ended_.assign(steps_.size(), std::vector<int>(index_of(first_lane_.back()), 0));
  for (const int step : sorted_) {
    std::vector<int>& own = ended_[index_of(step)];
    for (const Edge& edge : edges_[index_of(step)]) {
      const std::vector<int>& theirs = ended_[index_of(edge.from)];
      for (std::size_t lane = 0; lane < own.size(); ++lane) {
        own[lane] = std::max(own[lane], theirs[lane]);
      }
      const OrderedStep& from = steps_[index_of(edge.from)];
      own[index_of(from.lane)] = std::max(own[index_of(from.lane)], from.position + 1);
    }
  }
}

bool StepOrder::before(int step, int other) const {
  const OrderedStep& first = steps_[index_of(step)];
  return ended_[index_of(other)][index_of(first.lane)] > first.position;
}

std::vector<int> StepOrder::rows() const {
  std::vector<int> rows(steps_.size(), 0);
  for (const int step : sorted_) {
    for (const Edge& edge : edges_[index_of(step)]) {
      rows[index_of(step)] = std::max(rows[index_of(step)], rows[index_of(edge.from)] + 1);
    }
  }
  return rows;
}

// As before(), if `other` did not wait for the semaphore.
bool StepOrder::before_without(int step, int other, int semaphore) const {
  for (const Edge& edge : edges_[index_of(other)]) {
    if (edge.semaphore == semaphore) continue;
    if (edge.from == step || before(step, edge.from)) return true;
  }
  return false;
}

// That a signal comes while the one before still stands, or is taken by another wait than its own,
// would need that a wait has not ended when the next signal is given or the next wait starts.
std::string StepOrder::check_pairs() const {
  for (std::size_t index = 0; index < uses_.size(); ++index) {
    const Uses& uses = uses_[index];
    if (uses.counts) {
      std::string fault = check_count(uses);
      if (!fault.empty()) return fault;
      continue;
    }
    for (std::size_t wait = 0; wait < uses.waits.size(); ++wait) {
      const int now = uses.waits[wait];
      const std::size_t next_signal = wait + 1 - index_of(uses.initial);
      if (next_signal < uses.signals.size() && !before(now, uses.signals[next_signal])) {
        return fmt::format("{}: {} may signal it before {} has taken the signal before", uses.name,
                           text_of(uses.signals[next_signal]), text_of(now));
      }
      if (wait + 1 == uses.waits.size()) continue;
      const int next = uses.waits[wait + 1];
      if (!before_without(now, next, static_cast<int>(index))) {
        return fmt::format("{}: {} may take the signal that {} waits for", uses.name, text_of(next),
                           text_of(now));
      }
    }
  }
  return "";
}

// A number that comes late would take back one that is larger.
std::string StepOrder::check_count(const Uses& uses) const {
  for (std::size_t next = 1; next < uses.signals.size(); ++next) {
    if (before(uses.signals[next - 1], uses.signals[next])) continue;
    return fmt::format("{}: {} may signal it before {} has", uses.name, text_of(uses.signals[next]),
                       text_of(uses.signals[next - 1]));
  }
  return "";
}

// With one queue for all lanes of a device a step starts only when those enqueued before it have
// started. Numbers 2 i and 2 i + 1 are the start and the end of step i.
std::string StepOrder::check_queues() const {
  Edges edges(2 * steps_.size());
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    for (const Edge& edge : edges_[step]) edges[2 * step].push_back({2 * edge.from + 1, 0});
    edges[2 * step + 1].push_back({static_cast<int>(2 * step), 0});
  }
  for (const auto& of_rank : of_rank_) {
    int before = -1;
    for (const int step : of_rank) {
      if (!steps_[index_of(step)].has_place_in_queue()) continue;
      if (before >= 0) edges[index_of(2 * step)].push_back({2 * before, 0});
      before = step;
    }
  }
  const std::vector<int> sorted = sorted_by(edges);
  if (sorted.size() == edges.size()) return "";
  return "deadlock where all lanes of a device run through one queue";
}

std::string StepOrder::cycle_text(const Edges& edges, const std::vector<int>& sorted) const {
  std::vector<bool> starts(edges.size(), false);
  for (const int step : sorted) starts[index_of(step)] = true;
  const auto waits_for = [&](int step) {
    for (const Edge& edge : edges[index_of(step)]) {
      if (!starts[index_of(edge.from)]) return edge.from;
    }
    return step;
  };
  int step = static_cast<int>(std::find(starts.begin(), starts.end(), false) - starts.begin());
  std::vector<int> path;
  while (std::find(path.begin(), path.end(), step) == path.end()) {
    path.push_back(step);
    step = waits_for(step);
  }
  std::string text = text_of(step);
  for (auto each = std::find(path.begin(), path.end(), step) + 1; each < path.end(); ++each) {
    text += " waits for " + text_of(*each) + ", which";
  }
  return text + " waits for " + text_of(step);
}

std::string StepOrder::text_of(int step) const {
  const OrderedStep& one = steps_[index_of(step)];
  const RankSchedule& schedule = calls_.order[index_of(one.call)]->ranks[index_of(one.rank)];
  if (one.step < 0) return fmt::format("the caller of rank {} before call {}", one.rank, one.call);
  if (index_of(one.step) == schedule.steps.size()) {
    return fmt::format("the caller of rank {} after call {}", one.rank, one.call);
  }
  const std::string item = one.item >= 0 ? fmt::format("item {} of ", one.item) : "";
  return fmt::format("{}step {} of rank {} in call {}", item, one.step, one.rank, one.call);
}

}  // namespace duet
