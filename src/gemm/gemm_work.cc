#include "gemm/gemm_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gemm/reference.h"

namespace duet {
namespace {

constexpr double kDeadlineSeconds = 120;
constexpr std::size_t kChunk = 16 << 20;  // bytes of C that are searched for poison at a time
constexpr std::size_t kMostChunks = 64;   // of a C above 1 GiB, this many chunks, evenly spread

// The poison byte. An element made of it is NaN as a floating-point number and -2139062144 as
// int32, which no product has.
std::uint64_t poison(DType output) { return output == DType::int32 ? 0x80 : 0xFF; }

std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * size_of(dtype);
}

// The index of the first element of `size` bytes that consists of poison, or -1.
std::int64_t find_poison(const std::vector<std::byte>& data, std::size_t bytes, std::size_t size,
                         std::byte poisoned) {
  for (std::size_t i = 0; i + size <= bytes; i += size) {
    std::size_t j = 0;
    while (j < size && data[i + j] == poisoned) ++j;
    if (j == size) return static_cast<std::int64_t>(i / size);
  }
  return -1;
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
  const Fill poisoned{FillKind::constant, poison(problem_.output), 0, problem_.output};
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
  if (!problem_.accumulate) require_written(rank.device, own.c.span());
  require_rows(rank.device, own);
  return std::nullopt;
}

void GemmWork::require_written(Device& device, const Span& c) const {
  const std::size_t chunks = (c.bytes + kChunk - 1) / kChunk;
  const std::size_t looked_at = std::min(chunks, kMostChunks);
  const std::size_t size = size_of(problem_.output);
  std::vector<std::byte> data(std::min<std::size_t>(kChunk, c.bytes));
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::size_t offset = looked_at < 2 ? 0 : (chunks - 1) * i / (looked_at - 1) * kChunk;
    const std::size_t length = std::min(kChunk, c.bytes - offset);
    device.read(c.slice(offset, length), data.data());
    const std::int64_t at =
        find_poison(data, length, size, static_cast<std::byte>(poison(problem_.output)));
    if (at < 0) continue;
    const std::int64_t index = at + static_cast<std::int64_t>(offset / size);
    throw Mismatch(fmt::format("{} on {}: {}: C({}, {}) was never written", engine_.name(),
                               device.info().name, duet::name(problem_), index / problem_.n,
                               index % problem_.n));
  }
}

void GemmWork::require_rows(Device& device, const RankOperands& own) const {
  const std::vector<std::int64_t> rows = sampled_rows(problem_.m);
  const std::vector<double> products =
      gemm_reference(device.info().kind)(device, problem_, own.buffers(), rows);
  const Epilogue epilogue = problem_.epilogue;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> got =
        row_values(device, own.c.span(), problem_.n, problem_.output, rows[i]);
    std::vector<double> aux(got.size());
    if (epilogue != Epilogue::none)
      aux = row_values(device, own.aux.span(), problem_.n, problem_.output, rows[i]);
    for (std::size_t j = 0; j < got.size(); ++j) {
      const std::size_t at = i * got.size() + j;
      const double product = products[at], addend = own.initial.empty() ? 0 : own.initial[at];
      const double allowed = tolerance(problem_, product, addend);
      const auto column = static_cast<std::int64_t>(j);
      if (epilogue == Epilogue::gelu) {
        require_near(device, {"aux", rows[i], column}, aux[j], product, allowed);
      }
      require_near(device, {"C", rows[i], column}, got[j],
                   after_epilogue(epilogue, product, aux[j]) + addend,
                   epilogue == Epilogue::none ? allowed : kSteepestGelu * allowed);
    }
  }
}

void GemmWork::require_near(Device& device, const Element& element, double got, double wanted,
                            double allowed) const {
  if (std::abs(got - wanted) <= allowed) return;  // false for NaN
  throw Mismatch(fmt::format("{} on {}: {}: {}({}, {}) is {}, expected {} +- {:.2g}",
                             engine_.name(), device.info().name, duet::name(problem_), element.what,
                             element.row, element.column, got, wanted, allowed));
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
