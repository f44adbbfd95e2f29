#include "layers/layer_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "collectives/partition.h"
#include "core/error.h"
#include "gemm/reference.h"

namespace duet {
namespace {

constexpr double kDeadline = 120;                  // seconds for any wait outside the samples
constexpr Fill kPoison{FillKind::constant, 0xFF};  // NaN in every type of floating point
// Operations of a call, for the launch queue: of each range a multiplication with what belongs to
// it, two waits or signals, and a copy.
constexpr std::size_t kOperationsOfRange = 6;

std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<std::uint64_t>(rows * columns) * size_of(dtype);
}

class DeviceMemory : public CollectiveMemory {
 public:
  explicit DeviceMemory(Buffer buffer) : buffer_(std::move(buffer)) {}
  Span span() const override { return buffer_.span(); }

 private:
  Buffer buffer_;
};

std::vector<double> row_of(Device& device, const Span& matrix, std::int64_t row,
                           const GemmProblem& problem) {
  const std::uint64_t bytes = matrix_bytes(1, problem.n, problem.output);
  std::vector<std::byte> data(bytes);
  device.read(matrix.slice(static_cast<std::uint64_t>(row) * bytes, bytes), data.data());
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes; at += size_of(problem.output)) {
    values.push_back(static_cast<double>(load(problem.output, data.data() + at)));
  }
  return values;
}

}  // namespace

LayerWork::LayerWork(Team& team, GemmEngine& gemm, const LayerOperation& operation,
                     const LayerWay& way, const Tuning& tuning)
    : team_(team),
      gemm_(gemm),
      operation_(operation),
      way_(way),
      tuning_(tuning),
      problem_(problem_of(operation, team.size())),
      collective_(collective_of(operation, team.size(), way.ranges, way.sums)),
      states_(static_cast<std::size_t>(team.local_size())) {}

Cost LayerWork::cost() const {
  Cost cost;
  cost.flop = team_.size() * flop(problem_);
  cost.memory_bytes = team_.size() * bytes(problem_);
  cost.wire_bytes = wire_bytes_;
  return cost;
}

std::uint64_t LayerWork::x_bytes() const {
  return matrix_bytes(problem_.m, problem_.k, problem_.dtype);
}
std::uint64_t LayerWork::y_bytes() const {
  return matrix_bytes(problem_.m, problem_.n, problem_.output);
}
std::uint64_t LayerWork::weight_bytes() const {
  return matrix_bytes(problem_.n, problem_.k, problem_.dtype);
}

std::unique_ptr<CollectiveMemory> LayerWork::allocate(Rank& rank, std::uint64_t bytes) const {
  if (way_.session != nullptr) return way_.session->allocate(rank, bytes);
  return std::make_unique<DeviceMemory>(rank.device.allocate(bytes));
}

void LayerWork::allocate_all(Rank& rank, RankState& own) const {
  own.x = allocate(rank, x_bytes());
  own.y = allocate(rank, y_bytes());
  own.weight = rank.device.allocate(weight_bytes());
  if (gathers()) {
    const std::uint64_t part = x_bytes() / static_cast<std::uint64_t>(rank.size);
    own.buffers.recv = own.x->span();
    own.buffers.send = own.buffers.recv.slice(part * static_cast<std::uint64_t>(rank.index), part);
    return;
  }
  own.buffers = {own.y->span(), own.y->span()};
  if (operation_.kind == LayerKind::gemm_reduce || way_.session == nullptr) return;
  own.scattered = allocate(rank, y_bytes() / static_cast<std::uint64_t>(rank.size));
  own.buffers.recv = own.scattered->span();
}

void LayerWork::prepare(Rank& rank, const Placement& placement) {
  RankState& own = state(rank);
  rank.team.free_retired(rank);
  allocate_all(rank, own);
  const auto stream = rank.device.make_stream({placement.priority});
  fill(rank, own, *stream);
  stream->synchronize(kDeadline);
  if (way_.session != nullptr) own.plan = way_.session->plan(rank, collective_, own.buffers);
  plan_gemms(rank, own, *stream);
  if (way_.graph.launches > 0) capture_calls(own, *stream);
  const double wire_bytes = own.plan != nullptr ? own.plan->wire_bytes() : 0;
  const auto all = rank.team.gather(rank, fmt::format("{}", wire_bytes),
                                    "the other ranks to have prepared", kDeadline);
  if (rank.local != 0) return;
  wire_bytes_ = 0;
  for (const std::string& each : *all) wire_bytes_ += std::stod(each);
  if (own.plan != nullptr) algorithm_ = own.plan->algorithm();
  host_driven_ = own.plan != nullptr && own.plan->host_driven();
  gemm_algorithm_ = own.gemms.rbegin()->second->algorithm();
}

// The first call tells how many rows are multiplied at a time; nothing is multiplied in it.
void LayerWork::plan_gemms(Rank& rank, RankState& own, Stream& stream) const {
  std::set<GemmKey> keys;
  const MultiplyRows note = [&](Stream&, const CallRows& rows) {
    keys.insert({rows.rows.count, rows.adds});
  };
  if (own.plan != nullptr) {
    own.plan->enqueue_rows(stream, note);
    stream.synchronize(kDeadline);
  } else {
    note(stream, all_rows(own));
  }
  for (const GemmKey& key : keys) {
    own.gemms[key] =
        gemm_.plan(rank.device, problem(key), operands(own, first_rows(own, key.first)), tuning_);
  }
}

void LayerWork::capture_calls(RankState& own, Stream& stream) const {
  if (way_.session != nullptr) {
    if (const auto reason = way_.session->uncapturable()) throw Unavailable(reason->reason);
  }
  enqueue_call(own, stream);
  stream.synchronize(kDeadline);
  own.graph = capture(stream, [&] { enqueue_call(own, stream); });
}

int LayerWork::most_queued() const {
  const auto ranges = static_cast<std::size_t>(std::max(1, way_.ranges) * team_.size());
  return std::max(1, calls_queued(kOperationsOfRange * ranges) / calls());
}

GemmProblem LayerWork::problem(const GemmKey& key) const {
  GemmProblem problem = problem_;
  problem.m = static_cast<std::int64_t>(key.first);
  problem.accumulate = key.second;
  return problem;
}

CallRows LayerWork::first_rows(const RankState& own, std::uint64_t count) const {
  const Span all = (gathers() ? own.x : own.y)->span();
  return {{0, count}, all.slice(0, all.bytes / static_cast<std::uint64_t>(problem_.m) * count)};
}

CallRows LayerWork::all_rows(const RankState& own) const {
  return first_rows(own, static_cast<std::uint64_t>(problem_.m));
}

GemmBuffers LayerWork::operands(const RankState& own, const CallRows& rows) const {
  const auto slice = [&](const Span& of, std::uint64_t all) {
    const std::uint64_t row = all / static_cast<std::uint64_t>(problem_.m);
    return of.slice(rows.rows.first * row, rows.rows.count * row);
  };
  const Span x = gathers() ? rows.place : slice(own.x->span(), x_bytes());
  const Span y = gathers() ? slice(own.y->span(), y_bytes()) : rows.place;
  return {x, own.weight.span(), y};
}

void LayerWork::enqueue_call(const RankState& own, Stream& stream) const {
  const MultiplyRows multiply = [&](Stream& on, const CallRows& rows) {
    own.gemms.at({rows.rows.count, rows.adds})->enqueue(on, operands(own, rows));
  };
  if (own.plan == nullptr) return multiply(stream, all_rows(own));
  own.plan->enqueue_rows(stream, multiply);
}

void LayerWork::enqueue(Rank& rank, Stream& stream) {
  const RankState& own = state(rank);
  if (own.graph == nullptr) return enqueue_call(own, stream);
  for (int launch = 0; launch < way_.graph.launches; ++launch) own.graph->launch(stream);
}

// A rank's part of X, or its weight.
Fill LayerWork::input(const char* what, int rank, std::uint64_t fills) const {
  const std::uint64_t each =
      fills * static_cast<std::uint64_t>(team_.size()) + static_cast<std::uint64_t>(rank);
  return {FillKind::normal, 2 * each + (*what == 'x' ? 1 : 2), 0, problem_.dtype};
}

// All that a rank multiplies: of a gather the parts of all ranks.
void LayerWork::fill_x(const Span& x, int rank, std::uint64_t fills, Stream& stream) const {
  if (!gathers()) return stream.fill(x, input("x", rank, fills));
  const std::uint64_t part = x.bytes / static_cast<std::uint64_t>(team_.size());
  for (int of = 0; of < team_.size(); ++of) {
    stream.fill(x.slice(part * static_cast<std::uint64_t>(of), part), input("x", of, fills));
  }
}

void LayerWork::fill_weight(const Span& weight, int rank, std::uint64_t fills,
                            Stream& stream) const {
  stream.fill(weight, input("weight", rank, fills));
}

// What ranks send each other is not there before the call.
void LayerWork::fill(Rank& rank, RankState& own, Stream& stream) const {
  ++own.fills;
  fill_x(own.x->span(), rank.index, own.fills, stream);
  if (gathers() && way_.session != nullptr) {
    stream.fill(own.x->span(), kPoison);
    stream.fill(own.buffers.send, input("x", rank.index, own.fills));
  }
  fill_weight(own.weight.span(), rank.index, own.fills, stream);
  stream.fill(own.y->span(), kPoison);
  if (own.scattered != nullptr) stream.fill(own.scattered->span(), kPoison);
}

void LayerWork::renew(Rank& rank) {
  RankState& own = state(rank);
  const auto stream = rank.device.make_stream();
  fill(rank, own, *stream);
  if (own.plan != nullptr) own.plan->poison_staging();
  stream->synchronize(kDeadline);
}

// Rows of Y in double, of inputs that are made anew: the own product, or the sum of all ranks'.
LayerWork::Expected LayerWork::expected(Rank& rank, const RankState& own,
                                        const std::vector<std::int64_t>& rows) const {
  const Buffer x = rank.device.allocate(x_bytes()), weight = rank.device.allocate(weight_bytes());
  const auto stream = rank.device.make_stream();
  const bool sums = !gathers() && way_.session != nullptr;
  Expected all;
  for (int step = 0; step < (sums ? rank.size : 1); ++step) {
    const int of = (rank.index + step) % rank.size;
    fill_x(x.span(), of, own.fills, *stream);
    fill_weight(weight.span(), of, own.fills, *stream);
    stream->synchronize(kDeadline);
    const std::vector<double> products = gemm_reference(rank.device.info().kind)(
        rank.device, problem_, {x.span(), weight.span(), own.y->span()}, rows);
    all.values.resize(products.size());
    all.allowed.resize(products.size());
    for (std::size_t i = 0; i < products.size(); ++i) {
      all.allowed[i] += tolerance(problem_, products[i], all.values[i]);
      all.values[i] += products[i];
    }
  }
  return all;
}

// Some rows of what comes from each rank, or is kept by it, that the rank's result has.
std::vector<std::int64_t> LayerWork::sampled(int rank) const {
  std::vector<std::int64_t> rows;
  const bool scatters = operation_.kind == LayerKind::gemm_scatter && way_.session != nullptr;
  for (int of = 0; of < team_.size(); ++of) {
    const RowBlock block = rows_of(collective_, of, team_.size());
    if (block.count == 0 || (scatters && of != rank)) continue;
    for (const std::int64_t row : sampled_rows(static_cast<std::int64_t>(block.count)))
      rows.push_back(static_cast<std::int64_t>(block.first) + row);
  }
  return rows;
}

std::optional<Skipped> LayerWork::verify(Rank& rank) {
  const RankState& own = state(rank);
  const auto& [key, largest] = *own.gemms.rbegin();
  if (const auto skipped = largest->unverifiable(operands(own, first_rows(own, key.first))))
    return *skipped;
  const std::vector<std::int64_t> rows = sampled(rank.index);
  const Expected wanted = expected(rank, own, rows);
  const bool scatters = own.scattered != nullptr;
  const RowBlock block = scatters ? rows_of(collective_, rank.index, rank.size) : RowBlock{};
  const Span result = (scatters ? own.scattered : own.y)->span();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> got =
        row_of(rank.device, result, rows[i] - static_cast<std::int64_t>(block.first), problem_);
    for (std::size_t j = 0; j < got.size(); ++j) {
      const std::size_t at = i * got.size() + j;
      if (std::abs(got[j] - wanted.values[at]) <= wanted.allowed[at]) continue;  // false for NaN
      throw Mismatch(fmt::format("{} {} on rank {}: Y({}, {}) is {}, expected {} +- {:.2g}",
                                 duet::name(operation_.kind), operation_.part, rank.index, rows[i],
                                 j, got[j], wanted.values[at], wanted.allowed[at]));
    }
  }
  return std::nullopt;
}

void LayerWork::release(Rank& rank) noexcept {
  RankState& own = state(rank);
  own.graph.reset();
  own.plan.reset();
  own.gemms.clear();
  own.x.reset();
  own.y.reset();
  own.scattered.reset();
  own.weight.reset();
  own.buffers = {};
}

}  // namespace duet
