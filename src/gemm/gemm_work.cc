#include "gemm/gemm_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gemm/product_check.h"
#include "gemm/reference.h"

namespace duet {
namespace {

constexpr double kDeadlineSeconds = 120;

std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * size_of(dtype);
}

}  // namespace

GemmWork::GemmWork(GemmEngine& engine, const GemmProblem& problem, const Tuning& tuning, int ranks)
    : engine_(engine),
      problem_(problem),
      tuning_(tuning),
      operands_(static_cast<std::size_t>(ranks)) {}

Cost GemmWork::cost() const {
  const auto ranks = static_cast<double>(operands_.size());
  Cost cost;
  cost.flop = ranks * flop(problem_);
  cost.memory_bytes = ranks * bytes(problem_);
  return cost;
}

void GemmWork::prepare(Rank& rank, const Placement& placement) {
  RankOperands& own = operands(rank);
  Device& device = rank.device;
  own.a = device.allocate(matrix_bytes(problem_.m, problem_.k, problem_.dtype));
  own.b = device.allocate(matrix_bytes(problem_.k, problem_.n, problem_.dtype));
  own.c = device.allocate(matrix_bytes(problem_.m, problem_.n, problem_.output));
  if (problem_.epilogue != Epilogue::none) own.aux = device.allocate(own.c.bytes());
  const auto stream = device.make_stream({placement.priority});
  Tuning tuning = tuning_;
  tuning.units = placement.units;
  fill_inputs(rank, own, *stream);
  stream->synchronize(kDeadlineSeconds);
  own.plan = engine_.plan(device, problem_, own.buffers(), tuning);
  if (rank.index == 0) algorithm_ = own.plan->algorithm();
}

void GemmWork::fill_inputs(const Rank& rank, RankOperands& own, Stream& stream) const {
  const auto seed =
      3 * (own.fills++ * operands_.size() + static_cast<std::uint64_t>(rank.index)) + 1;
  stream.fill(own.a.span(), {FillKind::normal, seed, 0, problem_.dtype});
  stream.fill(own.b.span(), {FillKind::normal, seed + 1, 0, problem_.dtype});
  const Fill third{FillKind::normal, seed + 2, 0, problem_.output};
  if (problem_.accumulate) stream.fill(own.c.span(), third);
  if (problem_.epilogue == Epilogue::gelu_backward) stream.fill(own.aux.span(), third);
}

void GemmWork::renew(Rank& rank) {
  RankOperands& own = operands(rank);
  const auto stream = rank.device.make_stream();
  fill_inputs(rank, own, *stream);
  const Fill poisoned{FillKind::constant, product_poison(problem_.output), 0, problem_.output};
  if (!problem_.accumulate) stream->fill(own.c.span(), poisoned);
  if (problem_.epilogue == Epilogue::gelu) stream->fill(own.aux.span(), poisoned);
  stream->synchronize(kDeadlineSeconds);
  if (problem_.accumulate && !own.plan->unverifiable(own.buffers())) keep_initial(rank, own);
}

void GemmWork::keep_initial(const Rank& rank, RankOperands& own) const {
  own.initial.clear();
  for (const std::int64_t row : sampled_rows(problem_.m)) {
    const std::vector<double> values =
        row_values(rank.device, own.c.span(), problem_.n, problem_.output, row);
    own.initial.insert(own.initial.end(), values.begin(), values.end());
  }
}

void GemmWork::enqueue(Rank& rank, Stream& stream) {
  const RankOperands& own = operands(rank);
  own.plan->enqueue(stream, own.buffers());
}

std::optional<Skipped> GemmWork::verify(Rank& rank) {
  RankOperands& own = operands(rank);
  if (const auto skipped = own.plan->unverifiable(own.buffers())) return *skipped;
  require_product({engine_.name(), rank.device, problem_, own.buffers(), own.initial});
  return std::nullopt;
}

void GemmWork::release(Rank& rank) noexcept {
  RankOperands& own = operands(rank);
  own.plan.reset();
  own.a.reset();
  own.b.reset();
  own.c.reset();
  own.aux.reset();
}

}  // namespace duet
