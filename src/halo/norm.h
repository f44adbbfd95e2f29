// The norm of iterations: partial sums of each rank's sweep, their sum over the ranks, in an order
// that never changes, so that all ranks have the same bits and would stop at the same iteration
// without asking.
#pragma once

#include <memory>
#include <vector>

#include "collectives/engine.h"
#include "halo/engine.h"

namespace duet {

// One rank's part, for calls of `iterations` iterations each. A plan that makes norms itself is
// told where to put each. For all others, reducing the partial sums of sweep k is a sum by the
// rank, an all_gather of 8 bytes, and a sum over the ranks.
//
// clang-format off
//   device, host:  sweep k -> reduce k -> sweep k+1 -> reduce k+1
//   delayed:       sweep k -> sweep k+1 -> sweep k+2
//     side stream:      `-> reduce k  `-> reduce k+1
// clang-format on
//
// Where the all_gather blocks (CollectivePlan::host_driven()), a delayed norm's begins when the
// next sweep has been enqueued.
class NormReduction {
 public:
  // Collective: every rank constructs it inside Team::each(). `gathers` is nullptr for a ring of
  // one rank. `partials`: of the rank's sweep; 0: the plan makes norms.
  NormReduction(Rank& rank, NormMode mode, CollectiveSession* gathers, std::int64_t partials,
                int iterations);

  // Where iteration `index` of a call puts its partial sums; empty: mode none.
  Span partials(int index) const;
  // What the plan makes in iteration `index`.
  NormOfSweep of_plan(int index) const;
  // Before the sweep of iteration `index`, and after it, on the caller's stream. With mode host,
  // after() returns when the host can read the norm, and the device may still end the iteration.
  void before(Stream& stream, int index);
  void after(Stream& stream, int index);
  // Behind the last iteration of a call.
  void finish(Stream& stream);

  // Overwrites what a call leaves. Blocking.
  void poison();
  bool has_contents() const;
  // The sums of (new - old)^2 of the last call's iterations, over all points. Blocking.
  std::vector<double> sums() const;

 private:
  void reduce(Stream& stream, int index);
  void add_partials(Stream& stream, int index);
  void add_ranks(Stream& stream, int index);
  void finish_reducing(int index);
  void wait_for_total(Stream& stream, int index);
  Span total(int index) const {
    return totals_.slice(kDouble * static_cast<std::size_t>(index), kDouble);
  }

  static constexpr std::size_t kDouble = sizeof(double);

  Device& device_;
  NormMode mode_;
  int iterations_;
  bool host_polls_ = false;           // for the norm itself, not for the end of the stream's work
  std::unique_ptr<Sweeper> sweeper_;  // nullptr: the plan makes norms
  std::size_t partial_bytes_ = 0;
  Buffer partials_;  // of two iterations in turn
  Buffer own_;       // the rank's sum
  Buffer gathered_;  // every rank's sum
  Buffer totals_;    // one for each iteration of a call; pinned where the host polls
  Buffer read_;      // with mode host, where the host does not poll: its copy of a total
  std::unique_ptr<CollectivePlan> gather_;
  bool blocks_ = false;           // the gather
  std::unique_ptr<Stream> side_;  // with mode delayed
  std::unique_ptr<Event> swept_;
  std::unique_ptr<Event> reduced_[2];  // by parity
};

}  // namespace duet
