// For tests: a schedule without one of the things that keep its steps in order. The checker must
// object to each.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/schedule/checker.h"

namespace duet {

// Takes things out of a schedule and puts them back. What is only for speed stays, and what a wire
// does.
class Removals {
 public:
  // Only of groups from `first_group` and steps from `first_steps` on, by rank: of the second of
  // two halves. What the first half needs alone the second one may cover.
  explicit Removals(const CollectiveSchedule& whole, int first_group = 0,
                    std::vector<std::size_t> first_steps = {})
      : whole_(whole),
        rest_(whole),
        first_group_(first_group),
        first_steps_(std::move(first_steps)) {
    first_steps_.resize(whole.ranks.size(), 0);
  }

  // What the checker does not object to: an edge, or a signal together with the wait that takes it,
  // taken out alone, unless it objects where all of the same rule or group are taken out.
  std::vector<std::string> unnoticed() {
    if (const std::string fault = fault_of(whole_); !fault.empty()) return {"the whole: " + fault};
    for (std::size_t rank = 0; rank < rest_.ranks.size(); ++rank) {
      for (std::size_t step = first_steps_[rank]; step < rest_.ranks[rank].steps.size(); ++step) {
        without_edges(static_cast<int>(rank), static_cast<int>(step));
      }
    }
    without_barriers();
    note_semaphores();
    for (const auto& [semaphore, uses] : uses_) {
      if (semaphore[0] >= first_group_ && !uses.by_wire) without_semaphore(semaphore, uses);
    }
    return unnoticed_;
  }

 private:
  using Key = std::array<int, 4>;  // of a SemaphoreAt
  using Lists = std::vector<std::vector<SemaphoreAt>*>;
  struct Uses {
    Lists signals, waits;
    bool by_wire = true;
  };

  static Key key_of(const SemaphoreAt& at) { return {at.group, at.owner, at.peer, at.index}; }
  bool noticed() const { return !fault_of(rest_).empty(); }

  void without_edges(int rank, int step) {
    if (rest_.ranks[index_of(rank)].steps[index_of(step)].by_wire) return;
    std::vector<int>& after = rest_.ranks[index_of(rank)].steps[index_of(step)].after;
    const std::vector<int> before = after;
    for (std::size_t i = 0; i < before.size(); ++i) {
      after.erase(after.begin() + static_cast<std::ptrdiff_t>(i));
      const bool found = noticed();
      after = before;
      const std::string& rule = rest_.ranks[index_of(rank)].steps[index_of(step)].rule;
      if (found || (!rule.empty() && noticed_without_rule(rule))) continue;
      unnoticed_.push_back(
          fmt::format("step {} of rank {} not after step {}", step, rank, before[i]));
    }
  }

  bool noticed_without_rule(const std::string& rule) {
    const auto [found, is_new] = rules_.emplace(rule, false);
    if (!is_new) return found->second;
    CollectiveSchedule without = whole_;
    for (RankSchedule& rank : without.ranks) {
      for (Step& step : rank.steps) {
        if (step.rule == rule) step.after.clear();
      }
    }
    found->second = !fault_of(without).empty();
    return found->second;
  }

  // Of the kernels of all ranks together.
  void without_barriers() {
    for (std::size_t step = 0; step < whole_.ranks.front().steps.size(); ++step) {
      const auto& barriers = whole_.ranks.front().steps[step].kernel.barriers;
      if (!barriers) continue;
      for (const bool opens : {true, false}) {
        if (opens ? !barriers->opens : !barriers->closes || barriers->closes_for_speed) continue;
        CollectiveSchedule without = whole_;
        for (RankSchedule& rank : without.ranks) {
          KernelBarriers& own = *rank.steps[step].kernel.barriers;
          (opens ? own.opens : own.closes) = false;
        }
        if (!fault_of(without).empty()) continue;
        unnoticed_.push_back(
            fmt::format("the barrier {} step {}", opens ? "before" : "after", step));
      }
    }
  }

  void note_semaphores() {
    for (RankSchedule& rank : rest_.ranks) {
      for (Step& step : rank.steps) {
        note(step.waits, step.signals, step.by_wire);
        for (StepItem& item : step.kernel.items) note(item.waits, item.signals, false);
      }
    }
  }

  void note(std::vector<SemaphoreAt>& waits, std::vector<SemaphoreAt>& signals, bool by_wire) {
    const auto note = [&](std::vector<SemaphoreAt>& list, Lists Uses::*lists) {
      for (const SemaphoreAt& each : list) {
        Uses& uses = uses_[key_of(each)];
        (uses.*lists).push_back(&list);
        uses.by_wire = uses.by_wire && by_wire;
      }
    };
    note(signals, &Uses::signals);
    note(waits, &Uses::waits);
  }

  static void erase(std::vector<SemaphoreAt>& list, const Key& semaphore) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const SemaphoreAt& each) {
      return key_of(each) == semaphore;
    });
    if (found != list.end()) list.erase(found);
  }

  void without_semaphore(const Key& semaphore, const Uses& uses) {
    const SemaphoreGroup& group = whole_.ranks.front().semaphores[index_of(semaphore[0])];
    for (std::size_t i = 0; !group.only_for_speed && i < uses.signals.size(); ++i) {
      std::vector<SemaphoreAt>& signals = *uses.signals[i];
      std::vector<SemaphoreAt>& waits =
          *uses.waits[(i + index_of(group.initial)) % uses.waits.size()];
      const std::vector<SemaphoreAt> signals_before = signals, waits_before = waits;
      erase(signals, semaphore);
      erase(waits, semaphore);
      const bool found = noticed();
      signals = signals_before;
      waits = waits_before;
      if (found || noticed_without_group(semaphore[0])) continue;
      unnoticed_.push_back(fmt::format(
          "{} without signal {}",
          text_of(whole_.ranks.front(), {semaphore[0], semaphore[1], semaphore[2], semaphore[3]}),
          i));
    }
  }

  bool noticed_without_group(int group) {
    const auto [found, is_new] = groups_.emplace(group, false);
    if (!is_new) return found->second;
    CollectiveSchedule without = whole_;
    for (RankSchedule& rank : without.ranks) {
      for (Step& step : rank.steps) {
        erase_group(step.waits, step.signals, group);
        for (StepItem& item : step.kernel.items) erase_group(item.waits, item.signals, group);
      }
    }
    found->second = !fault_of(without).empty();
    return found->second;
  }

  static void erase_group(std::vector<SemaphoreAt>& waits, std::vector<SemaphoreAt>& signals,
                          int group) {
    for (auto* list : {&waits, &signals}) {
      list->erase(std::remove_if(list->begin(), list->end(),
                                 [group](const SemaphoreAt& at) { return at.group == group; }),
                  list->end());
    }
  }

  const CollectiveSchedule& whole_;
  CollectiveSchedule rest_;
  const int first_group_;
  std::vector<std::size_t> first_steps_;
  std::map<std::string, bool> rules_;
  std::map<int, bool> groups_;
  std::map<Key, Uses> uses_;
  std::vector<std::string> unnoticed_;
};

inline std::vector<std::string> unnoticed_removals(const CollectiveSchedule& schedule) {
  return Removals(schedule).unnoticed();
}

}  // namespace duet
