// Checks of a layer's call against its routing and the rows of X.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "gemm/reference.h"
#include "moe/moe_checks.h"
#include "moe/moe_layer.h"
#include "training/operations/fp8_rows.h"

namespace duet {
namespace {

template <typename T>
std::vector<T> read(Device& device, const Tensor& tensor) {
  std::vector<T> values(tensor.bytes() / sizeof(T));
  if (!values.empty()) device.read(tensor.span, values.data());
  return values;
}

// Rows of these bytes as they come out of fp8.
void through_fp8(std::vector<char>& bytes, std::int64_t columns, DType dtype) {
  const std::size_t count = bytes.size() / size_of(dtype),
                    width = static_cast<std::size_t>(columns);
  std::vector<float> values(count);
  convert(dtype, bytes.data(), DType::fp32, values.data(), count);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(bytes_of_fp8_row(columns)));
  for (std::size_t first = 0; first < count; first += width) {
    quantise_row(&values[first], columns, row.data());
    dequantise_row(row.data(), columns, &values[first]);
  }
  convert(DType::fp32, values.data(), dtype, bytes.data(), count);
}

}  // namespace

std::vector<double> row_of(Device& device, const Tensor& tensor, std::int64_t row) {
  return row_values(device, tensor.span, tensor.columns, tensor.dtype, row);
}

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values(index_of(tensor.count()));
  if (values.empty()) return values;
  const auto bytes = read<char>(*tensor.span.owner, tensor);
  convert(tensor.dtype, bytes.data(), DType::fp32, values.data(), values.size());
  return values;
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (const double each : values) squares += each * each;
  return std::max(1.0, std::sqrt(squares / static_cast<double>(values.size())));
}

double rounding_of(DType dtype) {
  return dtype == DType::bf16 ? 1.0 / 256 : dtype == DType::fp16 ? 1.0 / 2048 : 0x1p-20;
}

void MoeLayer::mismatch(const Rank& rank, const std::string& what) const {
  throw Mismatch(
      fmt::format("moe {}, {}, on rank {}: {}", shape().part, name(rows().kind), rank.index, what));
}

std::optional<Skipped> MoeLayer::unverifiable() const {
  bool there = true;
  for (const MoeHop& hop : tensors_.hops) {
    const Tensor& received = hop.received;
    there = there && (received.count() == 0 || received.span.owner->has_contents(received.span));
  }
  for (const Tensor* each : {&tensors_.out, &tensors_.expanded, &tensors_.gate_up})
    there = there && (each->count() == 0 || operations_.computes(*each));
  if (!there) return Skipped{"simulated: matrices this large have no contents"};
  for (const Product* each : products()) {
    if (auto skipped = each->plan->unverifiable()) return skipped;
  }
  for (const WeightGradients& each : weight_gradients_) {
    if (auto skipped = each.unverifiable()) return skipped;
  }
  return std::nullopt;
}

void MoeLayer::verify(Rank& rank, std::uint64_t fills) const {
  if (!plans_.empty()) {
    verify_routing(rank);
    verify_expanded(rank, fills);
  }
  verify_products(rank);
  if (!plans_.empty()) verify_sums(rank, tensors_.products, true, tensors_.out);
  if (shape().trains) verify_backward(rank, fills);
}

void MoeLayer::verify_routing(Rank& rank) const {
  const auto experts = read<std::int32_t>(rank.device, tensors_.routing);
  const auto weights = read<float>(rank.device, tensors_.routing);
  const std::int64_t chosen = shape().chosen;
  for (std::int64_t token = 0; token < shape().tokens; ++token) {
    const std::int64_t all = rank.index * shape().tokens + token;
    for (std::int64_t j = 0; j < chosen; ++j) {
      const std::size_t at = index_of(2 * token * chosen + j);
      const std::int32_t expert = call_.routed->experts_of(all)[j];
      const float weight = call_.routed->weights_of(all)[j];
      const float got = weights[at + index_of(chosen)];
      if (experts[at] == expert && std::abs(got - weight) <= kWeightError) continue;
      mismatch(rank, fmt::format("choice {} of token {} is expert {} by {}, expected {} by {}", j,
                                 token, experts[at], got, expert, weight));
    }
  }
}

// What the experts multiply, beside each rank's rows, which this one writes once more.
void MoeLayer::verify_expanded(Rank& rank, std::uint64_t fills) const {
  const auto found = read<char>(rank.device, tensors_.expanded);
  const std::vector<RowHop::Arrival>& arrivals = rows().arrivals(rank.index);
  const std::vector<std::int64_t>& multiplied = rows().multiplied[index_of(rank.index)];
  const std::size_t row_bytes = index_of(shape().hidden) * size_of(shape().dtype);
  Tensor x = tensors_.out;  // the shape
  const Buffer written = rank.device.allocate(x.bytes());
  x.span = written.span();
  const auto stream = rank.device.make_stream();
  for (int from = 0; from < rank.size; ++from) {
    stream->fill(x.span, memory_.input(from, fills));
    stream->synchronize(kMoeDeadline);
    auto expected = read<char>(rank.device, x);
    if (shape().fp8_rows) through_fp8(expected, shape().hidden, shape().dtype);
    for (std::size_t i = 0; i < multiplied.size(); ++i) {
      const std::int64_t token = arrivals[index_of(multiplied[i])].token - from * shape().tokens;
      if (token < 0 || token >= shape().tokens) continue;
      if (std::memcmp(&found[i * row_bytes], &expected[index_of(token) * row_bytes], row_bytes) ==
          0)
        continue;
      mismatch(rank, fmt::format("row {} of the experts' is not that of token {} of rank {}", i,
                                 token, from));
    }
  }
}

void MoeLayer::verify_product(Rank& rank, const Product& product, std::int64_t row,
                              double size) const {
  const GroupedGemmProblem& problem = product.problem;
  std::size_t group = 0;
  std::int64_t within = row;
  while (within >= problem.rows[group]) within -= problem.rows[group++];
  const GemmProblem one = product_of(problem, group);
  const GemmBuffers part = part_of(problem, product.buffers, group);
  const std::vector<double> expected =
      gemm_reference(rank.device.info().kind)(rank.device, one, part, {within});
  const std::vector<double> got = row_values(rank.device, part.c, one.n, one.output, within);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double allowed = size * tolerance(one, expected[i]);
    if (std::abs(got[i] - expected[i]) <= allowed) continue;  // false for NaN
    mismatch(rank, fmt::format("product ({}, {}) of group {} of {} is {}, expected {} +- {:.2g}",
                               within, i, group, name(problem), got[i], expected[i], allowed));
  }
}

void MoeLayer::verify_expert(Rank& rank, const Product& up, const Tensor& gate_up,
                             const Tensor& activated, const Product& down) const {
  if (gate_up.rows == 0) return;
  for (const std::int64_t row : sampled_rows(gate_up.rows)) {
    verify_product(rank, up, row, 1);
    const std::vector<double> in = row_of(rank.device, gate_up, row),
                              out = row_of(rank.device, activated, row);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double wanted = in[i] / (1 + std::exp(-in[i])) * in[out.size() + i];
      if (std::abs(out[i] - wanted) <= kActivationError * (1 + std::abs(wanted))) continue;
      mismatch(rank, fmt::format("the activation of row {} is {} at {}, expected {}", row, out[i],
                                 i, wanted));
    }
    verify_product(rank, down, row, root_mean_square(out));
  }
}

void MoeLayer::verify_products(Rank& rank) const {
  const MoeTensors& t = tensors_;
  verify_expert(rank, up_, t.gate_up, t.activated, down_);
  if (shape().shared > 0)
    verify_expert(rank, shared_up_, t.shared_gate_up, t.shared_activated, shared_down_);
}

void MoeLayer::each_row(
    const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& check) const {
  const std::vector<std::int64_t>& multiplied = rows().multiplied[index_of(rank_)];
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < own_experts(); ++e) {
    const std::int64_t expert = rank_ * own_experts() + e;
    const std::int64_t end = row + up_.problem.rows[index_of(e)];
    for (; row < end; ++row) {
      const std::int64_t token = rows().arrivals(rank_)[index_of(multiplied[index_of(row)])].token;
      const std::int32_t* const chosen = call_.routed->experts_of(token);
      check(row, token, std::find(chosen, chosen + shape().chosen, expert) - chosen);
    }
  }
}

// Of a token's sum what this rank's experts add, and behind it the sum of absolute values.
std::vector<double> MoeLayer::own_part(Rank& rank, const Tensor& summed, bool weighs,
                                       std::int64_t token) const {
  const auto columns = index_of(shape().hidden);
  std::vector<double> part(2 * columns);
  each_row([&](std::int64_t row, std::int64_t of, std::int64_t choice) {
    if (of != token) return;
    const double weight =
        weighs ? static_cast<double>(call_.routed->weights_of(token)[choice]) : 1.0;
    const std::vector<double> product = row_of(rank.device, summed, row);
    for (std::size_t i = 0; i < columns; ++i) {
      part[i] += weight * product[i];
      part[columns + i] += std::abs(weight * product[i]);
    }
  });
  return part;
}

void MoeLayer::verify_sums(Rank& rank, const Tensor& summed, bool weighs,
                           const Tensor& sums) const {
  const std::vector<std::int64_t> tokens = sampled_rows(shape().tokens);
  const auto columns = index_of(shape().hidden);
  std::vector<double> mine;
  for (int of = 0; of < rank.size; ++of) {
    for (const std::int64_t token : tokens) {
      const std::vector<double> part = own_part(rank, summed, weighs, of * shape().tokens + token);
      mine.insert(mine.end(), part.begin(), part.end());
    }
  }
  const auto all = rank.team.gather(
      rank, {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double)},
      "the other ranks to verify", kMoeDeadline);
  std::vector<double> theirs(mine.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::vector<double> sum(2 * columns);
    for (const std::string& bytes : *all) {
      std::memcpy(theirs.data(), bytes.data(), bytes.size());
      const std::size_t first = (index_of(rank.index) * tokens.size() + i) * 2 * columns;
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += theirs[first + c];
    }
    if (shape().shared > 0) {
      const std::vector<double> shared =
          row_of(rank.device, weighs ? tensors_.shared_products : tensors_.dshared_x, tokens[i]);
      for (std::size_t c = 0; c < columns; ++c) {
        sum[c] += shared[c];
        sum[columns + c] += std::abs(shared[c]);
      }
    }
    const std::vector<double> got = row_of(rank.device, sums, tokens[i]);
    for (std::size_t c = 0; c < columns; ++c) {
      // Partial sums are rounded once on each rank and on the way, and the result once, and once
      // more where that of shared experts is added.
      const double allowed = rounding_of(shape().dtype) * (rank.size + 2) * sum[columns + c];
      if (std::abs(got[c] - sum[c]) <= allowed) continue;  // false for NaN
      mismatch(rank, fmt::format("the sum of token {} is {} at {}, expected {} +- {:.2g}",
                                 tokens[i], got[c], c, sum[c], allowed));
    }
  }
}

}  // namespace duet
