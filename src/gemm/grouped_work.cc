#include "gemm/grouped_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "gemm/verification.h"

namespace duet {
namespace {

constexpr double kGroupedDeadline = 120;  // seconds

}  // namespace

GroupedGemmWork::GroupedGemmWork(GroupedGemmEngine& engine, GroupedGemmProblem problem,
                                 const Tuning& tuning)
    : engine_(engine), problem_(std::move(problem)), tuning_(tuning) {}

Cost GroupedGemmWork::cost() const {
  Cost cost;
  cost.flop = flop(problem_);
  cost.memory_bytes = bytes(problem_);
  return cost;
}

void GroupedGemmWork::prepare(Rank& rank, const Placement& placement) {
  Device& device = rank.device;
  a_ = device.allocate(bytes_of_a(problem_));
  b_ = device.allocate(bytes_of_b(problem_));
  c_ = device.allocate(bytes_of_c(problem_));
  const auto stream = device.make_stream({placement.priority});
  fill_inputs(*stream);
  stream->synchronize(kGroupedDeadline);
  Tuning tuning = tuning_;
  tuning.units = placement.units;
  plan_ = engine_.plan(device, problem_, buffers(), tuning);
  algorithm_ = plan_->algorithm();
}

void GroupedGemmWork::fill_inputs(Stream& stream) {
  const std::uint64_t seed = 2 * fills_++ + 1;
  stream.fill(a_.span(), {FillKind::normal, seed, 0, problem_.dtype});
  stream.fill(b_.span(), {FillKind::normal, seed + 1, 0, problem_.dtype});
}

void GroupedGemmWork::enqueue(Rank&, Stream& stream) { plan_->enqueue(stream); }

int GroupedGemmWork::most_queued() const {
  return plan_ == nullptr ? 1 : std::max(1, calls_queued(plan_->operations()));
}

void GroupedGemmWork::renew(Rank& rank) {
  const auto stream = rank.device.make_stream();
  fill_inputs(*stream);
  stream->fill(c_.span(), {FillKind::constant, poison(problem_.output), 0, problem_.output});
  stream->synchronize(kGroupedDeadline);
}

std::optional<Skipped> GroupedGemmWork::verify(Rank& rank) {
  if (auto skipped = plan_->unverifiable()) return skipped;
  const std::string whose =
      fmt::format("{} on {}: {}", engine_.name(), rank.device.info().name, duet::name(problem_));
  require_written(rank.device, c_.span(), problem_.n, problem_.output, whose);
  for (const std::size_t group : filled_groups(problem_)) {
    require_rows(rank.device, product_of(problem_, group), part_of(problem_, buffers(), group), {},
                 fmt::format("{}: group {} of {} rows", whose, group, problem_.rows[group]));
  }
  return std::nullopt;
}

void GroupedGemmWork::release(Rank&) noexcept {
  plan_.reset();
  a_.reset();
  b_.reset();
  c_.reset();
}

}  // namespace duet
