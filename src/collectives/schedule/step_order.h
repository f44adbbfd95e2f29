// Which steps have always ended when another one starts.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/schedule/checker.h"

namespace duet {

// What an item of a kernel does: all at once, or one of these.
enum class ItemPart { all, waits, accesses, signals };

// A step of a call, or what the caller does on lane 0 before the call or after it. Of a kernel its
// start and its end on the step's lane, and each item. Items that run side by side are on lanes of
// their own, between the signals and the waits of barriers. Items of a LocalKernel begin in order:
// a block goes on to the next one alone, so only an item's signals say that all blocks are done
// with it. Their waits are on the step's lane; their signals, which come in order too, on one more,
// and their accesses in the place of the signals. Where each block has semaphores of its own, or in
// pictures, items run one after the other.
struct OrderedStep {
  int call = 0, rank = 0;
  int step = 0;      // kBefore, a step of the rank's schedule, or the number of those
  int item = 0;      // the kernel's item or one of its other parts; kWhole: a step without a kernel
  int lane = 0;      // among the lanes of all ranks
  int position = 0;  // in its lane
  ItemPart part = ItemPart::all;

  static constexpr int kBefore = -1;
  static constexpr int kWhole = -1, kStart = -2, kEnd = -3;
  static constexpr int kSignal = -4, kWait = -5;          // of the barrier that opens
  static constexpr int kLastSignal = -6, kLastWait = -7;  // of the one that closes

  bool has_place_in_queue() const { return item == kWhole || item == kStart; }
};

class StepOrder {
 public:
  // `calls` must outlive it. `whole_items`: the items of all kernels are steps.
  explicit StepOrder(const CheckedCalls& calls, bool whole_items = false);

  // Waits or signals without a partner, a deadlock, a signal that another wait could take; "" if
  // there is none. Only then the other functions may be called.
  std::string fault();

  const std::vector<OrderedStep>& steps() const { return steps_; }
  // nullptr for what the caller does.
  const Step* step_of(int step) const;
  // Numbers of steps(): each stands behind those that have ended when it starts.
  const std::vector<int>& sorted() const { return sorted_; }
  bool before(int step, int other) const;
  // By step, the number of steps in the longest chain of those that have ended when it starts.
  std::vector<int> rows() const;
  std::string text_of(int step) const;  // "step 4 of rank 1 in call 2"

 private:
  static constexpr int kNoSemaphore = -1;
  struct Edge {
    int from = 0;
    int semaphore = kNoSemaphore;  // whose signal it is
  };
  using Edges = std::vector<std::vector<Edge>>;  // by step: what it starts behind
  struct Uses {
    std::string name;
    int initial = 0;
    bool counts = false;
    std::vector<int> waits, signals;
    std::map<int, int> balance;  // by call: signals less waits
  };
  using Key = std::tuple<const CollectiveSchedule*, int, int, int, int>;

  void number_lanes();
  void number_item_lanes(std::vector<int>& lanes);
  void add_rank(int call, int rank);
  int add_step(int call, int rank, int step, int item, int lane);
  int add_kernel(int call, int rank, int step);
  int add_item(int call, int rank, int step, int item);
  bool in_parts(const StepKernel& kernel) const;
  int add_peer_kernel(int call, int rank, int step);
  Uses& uses_of(int call, const RankSchedule& schedule, const SemaphoreAt& at);
  void note_semaphores();
  std::string pair_semaphores();
  std::string check_pairs() const;
  std::string check_count(const Uses& uses) const;
  std::string check_queues() const;
  void set_clocks();
  bool before_without(int step, int other, int semaphore) const;
  std::string cycle_text(const Edges& edges, const std::vector<int>& sorted) const;

  const CheckedCalls& calls_;
  const bool whole_items_;
  std::vector<int> first_lane_;               // by rank; behind the last: the number of all
  std::vector<std::vector<int>> item_lanes_;  // by rank and lane: the first of items side by side
  std::vector<OrderedStep> steps_;
  Edges edges_;
  std::vector<int> last_of_lane_;          // by lane; -1: none
  std::vector<std::vector<int>> of_rank_;  // in the order of enqueueing
  std::map<Key, std::size_t> known_;       // indices of uses_
  std::vector<Uses> uses_;
  std::vector<int> sorted_;
  std::vector<std::vector<int>> ended_;  // by step and lane: how many steps of the lane
};

}  // namespace duet
