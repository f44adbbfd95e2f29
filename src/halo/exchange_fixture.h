// For tests of engines: settings of short runs, and iterations of plans by hand.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "halo/engine.h"
#include "halo/halo_work.h"
#include "halo/reference.h"
#include "halo/verification.h"

namespace duet {

inline constexpr double kHaloDeadline = 60;  // seconds

inline HaloSettings settings_of(const HaloGrid& grid, bool overlap, NormMode norm, bool graph) {
  HaloSettings settings;
  settings.task = {grid, overlap};
  settings.norm = norm;
  settings.graph = graph;
  settings.iterations = 4;
  return settings;
}

inline constexpr int kPlainIterations = 6;
inline constexpr std::uint64_t kPlainSeed = 11;

// Iterations without a norm from initial values that are set by hand; before(stream) goes ahead of
// each.
template <typename Before>
void iterate_from(Rank& rank, const HaloTask& task, HaloPlan& plan, Before before) {
  const auto stream = rank.device.make_stream();
  const FieldShape& shape = plan.shape();
  const std::int64_t first = rows_of(task.grid, rank.index).first;
  for (std::int64_t row = 0; row < shape.rows + 2; ++row) {
    stream->fill(row_at(plan.field(0), shape, row),
                 initial_rows(task.grid, kPlainSeed, first + row - 1));
  }
  stream->synchronize(kHaloDeadline);
  rank.team.barrier("the other ranks to have set their values");
  for (int i = 0; i < kPlainIterations; ++i) {
    before(*stream);
    plan.enqueue(*stream, {i % 2, {}, i < kPlainIterations - 1});
  }
  stream->synchronize(kHaloDeadline);
  rank.team.barrier("the other ranks to have iterated");
}

// Iterations of which one rank's take ten times as long as the others' whole call.
inline void iterate_with_a_slow_rank(Team& team, HaloSession& session, int slow) {
  const HaloTask task{{16, 3 * team.size(), team.size()}, false};
  team.each([&](Rank& rank) {
    const std::unique_ptr<HaloPlan> plan = session.plan(rank, task);
    iterate_from(rank, task, *plan, [&](Stream& stream) {
      if (rank.index == slow) {
        stream.run(
            {"delay", {}, [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }});
      }
    });
    check_result(rank, {task.grid, kPlainIterations, kPlainSeed, *plan, {}});
    rank.team.barrier("the other ranks to have checked");
  });
}

}  // namespace duet
