#include "halo/halo_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/deadline.h"
#include "halo/reference.h"
#include "halo/verification.h"
#include "halo/workload.h"
#include "timing/measurement.h"
#include "timing/work.h"

namespace duet {
namespace {

constexpr int kCheckedCalls = 2;
constexpr std::uint64_t kDelayBytes = 8 << 20;  // that a late rank writes before an enqueue() ...
constexpr int kDelays = 4;                      // ... so many times
constexpr Fill kPoison{FillKind::constant, 0xDB, 0, DType::fp32};
// Operations of a stream that the vendors' launch queues take, and the most of one iteration: a
// sweep in two parts, two pushes, signals and waits, forks and joins, and a norm.
constexpr int kLaunchQueue = 1000, kMostOperations = 25;

// Runs calls on streams of the rank's own. Where they throw, work of a stream may wait for a rank
// that does not come: the team fails, so that such waits are released, and the device finishes
// before the plan that has them is freed.
template <typename Calls>
void finish_if_it_throws(const Rank& rank, const Calls& calls) {
  try {
    calls();
  } catch (const std::exception& error) {
    rank.team.fail(rank.index, error.what());
    try {
      rank.device.finish(kDefaultDeadlineSeconds);
    } catch (const std::exception&) {
      // The first error is on its way already.
    }
    throw;
  }
}

}  // namespace

HaloWork::HaloWork(Team& team, HaloSession& session, CollectiveSession* gathers,
                   const HaloSettings& settings)
    : team_(team),
      session_(session),
      gathers_(settings.task.grid.ranks > 1 ? gathers : nullptr),
      settings_(settings),
      states_(static_cast<std::size_t>(team.local_size())) {
  if (settings.iterations < 2 || settings.iterations % 2 != 0) {
    throw BadArgument(fmt::format("{} iterations a sample: expected an even number above 0",
                                  settings.iterations));
  }
}

Cost HaloWork::cost() const {
  const HaloGrid& grid = settings_.task.grid;
  Cost cost;
  const double points = static_cast<double>(grid.nx) * static_cast<double>(grid.ny);
  cost.flop = (settings_.norm == NormMode::none ? 4 : 7) * points;
  cost.memory_bytes = 2 * sizeof(float) * points;
  cost.more = {{kPoints, points}};
  if (grid.ranks > 1) cost.wire_bytes = 2.0 * static_cast<double>(row_bytes(grid)) * grid.ranks;
  return cost;
}

int HaloWork::queued() const {
  if (settings_.graph) return calls_queued(graph_size_);
  return kLaunchQueue / (kMostOperations * settings_.iterations);
}

void HaloWork::prepare(Rank& rank, const Placement&) {
  RankState& own = state(rank);
  own.plan = session_.plan(rank, settings_.task);
  own.norm = std::make_unique<NormReduction>(rank, settings_.norm, gathers_,
                                             own.plan->makes_norms() ? 0 : own.plan->partials(),
                                             settings_.iterations);
  if (rank.local == 0) {
    blocks_ = own.plan->host_driven() || settings_.norm == NormMode::host;
    algorithm_ = own.plan->algorithm();
  }
  set_initial(rank, own);
  rank.team.barrier("the other ranks to have set their initial values");
  if (!settings_.graph) return;
  if (const auto reason = session_.uncapturable()) throw Unavailable(reason->reason);
  finish_if_it_throws(rank, [&] { capture_iterations(rank, own); });
}

// A first call may load kernels or connect ranks, which must not be captured.
void HaloWork::capture_iterations(Rank& rank, RankState& own) {
  const auto stream = rank.device.make_stream();
  iterate(own, *stream);
  stream->synchronize(kDefaultDeadlineSeconds);
  own.graph = capture(*stream, [&] { iterate(own, *stream); });
  const std::size_t largest = largest_graph(rank, *own.graph, kDefaultDeadlineSeconds);
  if (rank.local == 0) graph_size_ = largest;
}

// Values of a seed that the fields never had, the halo rows too; all that an iteration writes is
// poisoned.
void HaloWork::set_initial(Rank& rank, RankState& own) {
  ++own.seed;  // the same on all ranks, which make the same calls
  const HaloGrid& grid = settings_.task.grid;
  const FieldShape& shape = own.plan->shape();
  const std::int64_t first = rows_of(grid, ring_of(rank, grid).index).first;
  const Span field = own.plan->field(0);
  const Span inner = field.slice(shape.row_bytes(), shape.bytes() - 2 * shape.row_bytes());
  const auto stream = rank.device.make_stream();
  stream->fill(own.plan->field(1), kPoison);
  stream->fill(inner, initial_rows(grid, own.seed, first));
  stream->fill(row_at(field, shape, 0), initial_rows(grid, own.seed, first - 1));
  stream->fill(row_at(field, shape, shape.rows + 1),
               initial_rows(grid, own.seed, first + shape.rows));
  stream->synchronize(kDefaultDeadlineSeconds);
  own.norm->poison();
}

void HaloWork::iterate(RankState& own, Stream& stream) const {
  for (int i = 0; i < settings_.iterations; ++i) {
    own.norm->before(stream, i);
    const bool more_follow = i + 1 < settings_.iterations;
    own.plan->enqueue(stream, {i % 2, own.norm->partials(i), more_follow, own.norm->of_plan(i)});
    own.norm->after(stream, i);
  }
  own.norm->finish(stream);
}

void HaloWork::enqueue(Rank& rank, Stream& stream) {
  RankState& own = state(rank);
  if (own.graph != nullptr) return own.graph->launch(stream);
  iterate(own, stream);
}

void HaloWork::renew(Rank& rank) {
  if (settings_.verified) set_initial(rank, state(rank));
}

// Before call 0 one rank is late, before call 1 all but another one.
void HaloWork::delay(Rank& rank, int call, Stream& stream) const {
  const bool chosen = rank.index == call % rank.size;
  if (rank.size == 1 || chosen != (call == 0)) return;
  const Buffer scratch = rank.device.allocate(kDelayBytes);
  for (int i = 0; i < kDelays; ++i) stream.fill(scratch.span(), kPoison);
  stream.synchronize(kDefaultDeadlineSeconds);
}

void HaloWork::check(Rank& rank, RankState& own) const {
  check_result(rank,
               {settings_.task.grid, settings_.iterations, own.seed, *own.plan, own.norm->sums()});
}

std::optional<Skipped> HaloWork::verify(Rank& rank) {
  if (!settings_.verified) return Skipped{kNotToBeVerified};
  RankState& own = state(rank);
  const bool there = rank.device.has_contents(own.plan->field(0)) &&
                     rank.device.has_contents(own.plan->field(1)) && own.norm->has_contents();
  const auto all = rank.team.gather(rank, there ? "contents" : "", "the other ranks to have ended");
  if (std::find(all->begin(), all->end(), "") != all->end()) {
    return Skipped{"fields of this size have no contents on a simulated machine"};
  }
  check(rank, own);
  if (settings_.task.grid.ranks > 1) {
    finish_if_it_throws(rank, [&] { check_late_ranks(rank, own); });
  }
  return {};
}

void HaloWork::check_late_ranks(Rank& rank, RankState& own) {
  const auto stream = rank.device.make_stream();
  for (int call = 0; call < kCheckedCalls; ++call) {
    rank.team.barrier("the other ranks to have checked");
    set_initial(rank, own);
    rank.team.barrier("the other ranks to have set their initial values");
    delay(rank, call, *stream);
    enqueue(rank, *stream);
    stream->synchronize(kDefaultDeadlineSeconds);
    rank.team.barrier("the other ranks to have iterated");
    check(rank, own);
  }
}

void HaloWork::release(Rank& rank) noexcept {
  RankState& own = state(rank);
  own.graph.reset();
  own.norm.reset();
  own.plan.reset();
}

}  // namespace duet
