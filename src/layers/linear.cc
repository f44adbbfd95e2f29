#include "layers/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "collectives/partition.h"
#include "core/error.h"
#include "gemm/reference.h"

namespace duet {
namespace {

constexpr Fill kPoison{FillKind::constant, 0xFF};  // NaN in every type of floating point

std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<std::uint64_t>(rows * columns) * size_of(dtype);
}

// Rows of a matrix of `all` rows.
Span slice_rows(const Span& matrix, std::int64_t all, const RowBlock& rows) {
  const std::uint64_t row = matrix.bytes / static_cast<std::uint64_t>(all);
  return matrix.slice(rows.first * row, rows.count * row);
}

std::string bytes_of(Device& device, const Span& matrix, std::int64_t all, std::int64_t row) {
  const Span at = slice_rows(matrix, all, {static_cast<std::uint64_t>(row), 1});
  std::string bytes(at.bytes, '\0');
  device.read(at, bytes.data());
  return bytes;
}

double element(const std::string& row, std::int64_t column, DType dtype) {
  const auto* const first = reinterpret_cast<const std::byte*>(row.data());
  return static_cast<double>(load(dtype, first + matrix_bytes(1, column, dtype)));
}

}  // namespace

LayerLinear::LayerLinear(Rank& rank, GemmEngine& gemm, const LayerOperation& operation,
                         const LayerWay& way, const Tuning& tuning, std::uint64_t seed,
                         bool makes_input)
    : operation_(operation),
      way_(way),
      ranks_(rank.size),
      problem_(duet::problem_of(operation, rank.size)),
      is_computed_(is_computed(rank)),
      collective_(
          collective_of(operation, rank.size, way.ranges, way.sums, way.streams, way.joined)),
      seed_(seed),
      makes_input_(makes_input) {
  allocate(rank);
  if (normalises(operation.kind)) {
    norm_.emplace(rank.device, problem_.m, problem_.n, problem_.output);
    norm_->add_to(collective_, buffers_);
    norm_->plan(buffers_.send, buffers_.recv);
  }
  if (communicates()) plan_ = way.session->plan(rank, collective_, buffers_);
  if (multiplies()) plan_gemms(rank, gemm, tuning);
}

// A case of a simulated machine multiplies about ten times on each rank.
bool LayerLinear::is_computed(const Rank& rank) const {
  constexpr double kMostSimulated = 1e9;  // FLOP of all ranks, some 0.3 s of the CPU
  if (!multiplies() || !rank.team.machine().is_virtual()) return true;
  return rank.size * flop(problem_) <= kMostSimulated;
}

void LayerLinear::allocate(Rank& rank) {
  const auto allocate = [&](std::uint64_t bytes) -> std::unique_ptr<CollectiveMemory> {
    if (communicates()) return way_.session->allocate(rank, bytes);
    return std::make_unique<PlainMemory>(rank.device.allocate(bytes));
  };
  y_ = allocate(matrix_bytes(problem_.m, problem_.n, problem_.output));
  if (!multiplies()) {
    x_ = allocate(y().bytes);
    buffers_ = {x(), y()};
    return;
  }
  x_ = allocate(matrix_bytes(problem_.m, problem_.k, problem_.dtype));
  weight_ = rank.device.allocate(matrix_bytes(problem_.n, problem_.k, problem_.dtype));
  if (gathers()) {
    buffers_ = {slice_rows(x(), problem_.m, rows_of(collective_, rank.index, ranks_)), x()};
    return;
  }
  buffers_ = {y(), y()};
  if (!scatters(operation_.kind) || !communicates()) return;
  scattered_ = allocate(y().bytes / static_cast<std::uint64_t>(ranks_));
  buffers_.recv = scattered_->span();
}

// The first call tells what is multiplied at a time; nothing is multiplied in it.
void LayerLinear::plan_gemms(Rank& rank, GemmEngine& gemm, const Tuning& tuning) {
  const auto stream = rank.device.make_stream();
  // Tuning multiplies, and takes other times for other data.
  for (const Span& span : {x(), weight_.span()}) {
    if (is_computed_) stream->fill(span, {FillKind::normal, 1, 0, problem_.dtype});
  }
  cut_ = {first_rows(static_cast<std::uint64_t>(problem_.m))};
  if (plan_ != nullptr) {
    cut_.clear();
    plan_->enqueue_rows(*stream, [&](Stream&, const CallRows& rows) { cut_.push_back(rows); });
  }
  stream->synchronize(kLayerDeadline);
  Tuning of_device = tuning;
  of_device.simulated_products = is_computed_;
  const int alignment = alignment_of_all();
  for (const CallRows& each : cut_) {
    std::unique_ptr<GemmPlan>& plan = gemms_[key_of(each)];
    GemmProblem problem = problem_;
    problem.m = static_cast<std::int64_t>(each.rows.count);
    problem.accumulate = each.adds;
    problem.alignment = alignment;
    if (problem.layout == Layout::tn) problem.a_columns = problem_.m;
    if (plan == nullptr) plan = gemm.plan(rank.device, problem, operands(each), of_device);
  }
}

// Of what calls multiply, at most what problems promise otherwise.
int LayerLinear::alignment_of_all() const {
  std::uintptr_t addresses = kMatrixAlignment;
  for (const CallRows& each : cut_) {
    const GemmBuffers at = operands(each);
    for (const Span& span : {at.a, at.c}) addresses |= reinterpret_cast<std::uintptr_t>(span.data);
  }
  return static_cast<int>(addresses & ~(addresses - 1));
}

CallRows LayerLinear::first_rows(std::uint64_t count) const {
  const RowBlock rows{0, count};
  return {rows, slice_rows(gathers() ? x() : y(), problem_.m, rows)};
}

GemmBuffers LayerLinear::operands(const CallRows& rows) const {
  if (gathers()) return {rows.place, weight_.span(), slice_rows(y(), problem_.m, rows.rows)};
  if (problem_.layout == Layout::tn) {  // columns of X, from the first element to the last
    const std::uint64_t size = size_of(problem_.dtype), first = rows.rows.first * size;
    const std::uint64_t behind =
        matrix_bytes(1, problem_.m, problem_.dtype) - (rows.rows.first + rows.rows.count) * size;
    return {x().slice(first, x().bytes - first - behind), weight_.span(), rows.place};
  }
  return {slice_rows(x(), problem_.m, rows.rows), weight_.span(), rows.place};
}

void LayerLinear::enqueue(Stream& stream, StepTimeline* timeline) const {
  const MultiplyRows multiply = [&](Stream& on, const CallRows& rows) {
    if (timeline != nullptr) timeline->began_beside(on, "gemm");
    gemms_.at(key_of(rows))->enqueue(on, operands(rows));
    if (timeline != nullptr) timeline->ended_beside(on);
  };
  if (plan_ != nullptr && !way_.cut_only) {
    return multiplies() ? plan_->enqueue_rows(stream, multiply) : plan_->enqueue(stream);
  }
  for (const CallRows& each : cut_) multiply(stream, each);
  if (norm_) norm_->enqueue(stream);
}

// A rank's part of X, or its weight.
Fill LayerLinear::input(const char* what, int rank, std::uint64_t fills) const {
  const std::uint64_t each =
      (seed_ + fills) * static_cast<std::uint64_t>(ranks_) + static_cast<std::uint64_t>(rank);
  return {FillKind::normal, 2 * each + (*what == 'x' ? 0 : 1), 0, problem_.dtype};
}

void LayerLinear::fill(const Rank& rank, std::uint64_t fills, Stream& stream) const {
  if (!is_computed_) return;
  stream.fill(x(), kPoison);
  stream.fill(y(), way_.cut_only ? Fill{FillKind::normal, 1, 0, problem_.output} : kPoison);
  if (norm_) norm_->fill(seed_ + fills, stream);
  if (!multiplies()) {
    Fill sums = input("x", rank.index, fills);
    sums.dtype = problem_.output;
    return stream.fill(x(), sums);
  }
  if (scattered_ != nullptr) stream.fill(scattered_->span(), kPoison);
  stream.fill(weight_.span(), input("weight", rank.index, fills));
  if (makes_input_) return;
  if (!gathers()) return stream.fill(x(), input("x", rank.index, fills));
  for (int of = 0; of < ranks_; ++of) {
    if (communicates() && !way_.cut_only && of != rank.index) continue;
    stream.fill(slice_rows(x(), problem_.m, rows_of(collective_, of, ranks_)),
                input("x", of, fills));
  }
}

void LayerLinear::poison_staging() const {
  if (plan_ != nullptr && is_computed_) plan_->poison_staging();
}

std::optional<Skipped> LayerLinear::unverifiable() const {
  if (way_.cut_only) return Skipped{"nothing is communicated"};
  if (!multiplies()) return norm_->unverifiable(x());
  const auto& [key, largest] = *gemms_.rbegin();
  return largest->unverifiable(operands(first_rows(std::get<0>(key))));
}

// Of those that a rank sends or keeps.
std::vector<std::int64_t> LayerLinear::sampled(int of) const {
  const RowBlock block = rows_of(collective_, of, ranks_);
  std::vector<std::int64_t> rows;
  if (block.count == 0) return rows;
  for (const std::int64_t row : sampled_rows(static_cast<std::int64_t>(block.count)))
    rows.push_back(static_cast<std::int64_t>(block.first) + row);
  return rows;
}

void LayerLinear::verify(Rank& rank) const {
  if (gathers() && communicates()) verify_gathered(rank);
  verify_products(rank);
}

void LayerLinear::verify_gathered(Rank& rank) const {
  std::string own;
  for (const std::int64_t row : sampled(rank.index))
    own += bytes_of(rank.device, x(), problem_.m, row);
  const auto all = rank.team.gather(rank, own, "the other ranks to verify", kLayerDeadline);
  for (int of = 0; of < ranks_; ++of) {
    std::string here;
    for (const std::int64_t row : sampled(of)) here += bytes_of(rank.device, x(), problem_.m, row);
    if (here == (*all)[static_cast<std::size_t>(of)]) continue;
    throw Mismatch(fmt::format("{} {} on rank {}: rows of X are not those of rank {}",
                               name(operation_.kind), operation_.part, rank.index, of));
  }
}

// Rows of the rank's own product, in double, or of the sums that are there; behind each the size of
// what is multiplied.
std::vector<double> LayerLinear::products(Rank& rank, const std::vector<std::int64_t>& rows) const {
  const std::vector<double> all = multiplies()
                                      ? gemm_reference(rank.device.info().kind)(
                                            rank.device, problem_, {x(), weight_.span(), y()}, rows)
                                      : norm_->rows_of(x(), rows);
  std::vector<double> with_sizes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = all.begin() + static_cast<std::ptrdiff_t>(i) * problem_.n;
    with_sizes.insert(with_sizes.end(), row, row + problem_.n);
    with_sizes.push_back(size_of_row(rank.device, rows[i]));
  }
  return with_sizes;
}

// The root mean square of a row of X: 1 of inputs that are made here, of which tolerance() knows.
double LayerLinear::size_of_row(Device& device, std::int64_t row) const {
  if (!makes_input_) return 1;
  const std::string bytes = bytes_of(device, x(), problem_.m, row);
  double squares = 0;
  for (std::int64_t i = 0; i < problem_.k; ++i) {
    const double value = element(bytes, i, problem_.dtype);
    squares += value * value;
  }
  return std::max(1.0, std::sqrt(squares / static_cast<double>(problem_.k)));
}

// The own product, or the sum of all ranks'.
LayerLinear::Expected LayerLinear::expected(Rank& rank,
                                            const std::vector<std::int64_t>& rows) const {
  const bool sums = !gathers() && communicates();
  std::vector<std::int64_t> every = rows;  // that a rank multiplies: that any looks at
  if (sums) {
    every.clear();
    for (int of = 0; of < ranks_; ++of) {
      const std::vector<std::int64_t> some = sampled(of);
      every.insert(every.end(), some.begin(), some.end());
    }
  }
  const std::vector<double> own = products(rank, every);
  std::vector<std::string> parts = {
      {reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double)}};
  if (sums) parts = *rank.team.gather(rank, parts[0], "the other ranks to verify", kLayerDeadline);
  const auto columns = static_cast<std::size_t>(problem_.n);
  Expected all{std::vector<double>(rows.size() * columns),
               std::vector<double>(rows.size() * columns)};
  std::vector<double> part(columns + 1);
  for (const std::string& theirs : parts) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto number = std::find(every.begin(), every.end(), rows[i]) - every.begin();
      std::memcpy(part.data(),
                  theirs.data() + static_cast<std::size_t>(number) * part.size() * sizeof(double),
                  part.size() * sizeof(double));
      for (std::size_t j = 0; j < columns; ++j) {
        double& sum = all.values[i * columns + j];
        all.allowed[i * columns + j] += part.back() * tolerance(problem_, part[j], sum);
        sum += part[j];
      }
    }
  }
  return all;
}

void LayerLinear::verify_products(Rank& rank) const {
  const bool scatters = scattered_ != nullptr;
  std::vector<std::int64_t> rows;
  for (int of = 0; of < ranks_; ++of) {
    if (scatters && of != rank.index) continue;
    const std::vector<std::int64_t> some = sampled(of);
    rows.insert(rows.end(), some.begin(), some.end());
  }
  const Expected wanted = expected(rank, rows);
  const RowBlock block = scatters ? rows_of(collective_, rank.index, ranks_)
                                  : RowBlock{0, static_cast<std::uint64_t>(problem_.m)};
  const Span result = scatters ? scattered_->span() : norm_ ? norm_->updated() : y();
  const std::vector<double> residual =
      norm_ ? norm_->rows_of(norm_->residual(), rows) : std::vector<double>(wanted.values.size());
  std::size_t at = 0;
  for (const std::int64_t row : rows) {
    const std::string bytes = bytes_of(rank.device, result, static_cast<std::int64_t>(block.count),
                                       row - static_cast<std::int64_t>(block.first));
    for (std::int64_t column = 0; column < problem_.n; ++column, ++at) {
      const double got = element(bytes, column, problem_.output);
      const double value = wanted.values[at] + residual[at];
      const double allowed = wanted.allowed[at] + (norm_ ? norm_->rounding(value) : 0);
      if (std::abs(got - value) <= allowed) continue;  // false for NaN
      throw Mismatch(fmt::format("{} {} on rank {}: Y({}, {}) is {}, expected {} +- {:.2g}",
                                 name(operation_.kind), operation_.part, rank.index, row, column,
                                 got, value, allowed));
    }
    const std::string fault = norm_ ? norm_->fault_of_row(y(), row) : "";
    if (!fault.empty()) {
      throw Mismatch(fmt::format("{} {} on rank {}: {}", name(operation_.kind), operation_.part,
                                 rank.index, fault));
    }
  }
}

}  // namespace duet
