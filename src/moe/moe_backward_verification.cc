// Checks of a backward pass against the routing and the gradients of the tokens' results.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "core/error.h"
#include "gemm/reference.h"
#include "moe/moe_checks.h"
#include "moe/moe_layer.h"

namespace duet {

std::vector<std::vector<float>> MoeLayer::of_all_ranks(Rank& rank, std::uint64_t fills,
                                                       Fill (MoeMemory::*fill)(int, std::uint64_t)
                                                           const) const {
  Tensor one = tensors_.out;  // the shape
  const Buffer written = rank.device.allocate(one.bytes());
  one.span = written.span();
  const auto stream = rank.device.make_stream();
  std::vector<std::vector<float>> all;
  for (int from = 0; from < rank.size; ++from) {
    stream->fill(one.span, (memory_.*fill)(from, fills));
    stream->synchronize(kMoeDeadline);
    all.push_back(values_of(one));
  }
  return all;
}

void MoeLayer::verify_backward(Rank& rank, std::uint64_t fills) const {
  if (plans_.empty()) return verify_expert_gradients(rank);
  verify_dproducts(rank, fills);
  verify_expert_gradients(rank);
  verify_sums(rank, tensors_.dexpanded, false, tensors_.dx);
  verify_dweights(rank, fills);
}

// Of each row that the experts made, the gradient: a weight times that of its token's result.
void MoeLayer::verify_dproducts(Rank& rank, std::uint64_t fills) const {
  const auto columns = index_of(shape().hidden);
  const std::vector<float> found = values_of(tensors_.dproducts);
  const std::vector<std::vector<float>> douts = of_all_ranks(rank, fills, &MoeMemory::gradient);
  each_row([&](std::int64_t row, std::int64_t token, std::int64_t choice) {
    const float weight = call_.routed->weights_of(token)[choice];
    const float* const dout =
        &douts[index_of(token / shape().tokens)][index_of(token % shape().tokens) * columns];
    for (std::size_t c = 0; c < columns; ++c) {
      const double wanted = static_cast<double>(weight) * static_cast<double>(dout[c]);
      const auto got = static_cast<double>(found[index_of(row) * columns + c]);
      const double allowed = (rounding_of(shape().dtype) + kWeightError) * std::abs(wanted) +
                             kWeightError * std::abs(static_cast<double>(dout[c]));
      if (std::abs(got - wanted) <= allowed) continue;  // false for NaN
      mismatch(rank, fmt::format("the gradient of row {} of the experts' is {} at {}, expected {}",
                                 row, got, c, wanted));
    }
  });
}

void MoeLayer::verify_expert_gradients(Rank& rank) const {
  const MoeTensors& t = tensors_;
  const double size =
      verify_row_gradients(rank, dactivated_, t.gate_up, t.dactivated, t.dgate_up, dexpanded_);
  for (std::size_t i = 0; i < 2; ++i) verify_weight_gradients(rank, weight_gradients_[i], size);
  if (shape().shared == 0) return;
  const double shared = verify_row_gradients(rank, dshared_activated_, t.shared_gate_up,
                                             t.dshared_activated, t.dshared_gate_up, dshared_x_);
  for (std::size_t i = 2; i < 4; ++i) verify_weight_gradients(rank, weight_gradients_[i], shared);
}

double MoeLayer::verify_row_gradients(Rank& rank, const Product& first, const Tensor& gate_up,
                                      const Tensor& dactivated, const Tensor& dgate_up,
                                      const Product& second) const {
  double size = 1;
  if (gate_up.rows == 0) return size;
  for (const std::int64_t row : sampled_rows(gate_up.rows)) {
    verify_product(rank, first, row, 1);
    const std::vector<double> in = row_of(rank.device, gate_up, row),
                              dy = row_of(rank.device, dactivated, row),
                              got = row_of(rank.device, dgate_up, row);
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const double gate = in[i], up = in[dy.size() + i], part = 1 / (1 + std::exp(-gate));
      const double wanted[] = {dy[i] * up * part * (1 + gate * (1 - part)), dy[i] * gate * part};
      for (const std::size_t half : {0, 1}) {
        const double value = got[half * dy.size() + i];
        const double allowed =
            kActivationError * (1 + std::abs(wanted[half]) + std::abs(dy[i] * up));
        if (std::abs(value - wanted[half]) <= allowed) continue;
        mismatch(rank, fmt::format("the gradient of the activation of row {} is {} at {}, "
                                   "expected {}",
                                   row, value, half * dy.size() + i, wanted[half]));
      }
    }
    verify_product(rank, second, row, root_mean_square(got));
    size = std::max(size, root_mean_square(got));
  }
  return size;
}

// Of the first and the last expert, and of some between, a row in the middle.
void MoeLayer::verify_weight_gradients(Rank& rank, const WeightGradients& gradients,
                                       double size) const {
  for (const std::int64_t group :
       sampled_rows(static_cast<std::int64_t>(gradients.products().size()))) {
    const WeightGradients::Product& product = gradients.products()[index_of(group)];
    const GemmProblem& problem = product.problem;
    const std::int64_t row = problem.m / 2;
    std::vector<double> expected(index_of(problem.n), 0.0);
    if (problem.k > 0) {
      expected =
          gemm_reference(rank.device.info().kind)(rank.device, problem, product.buffers, {row});
    }
    const std::vector<double> got =
        row_values(rank.device, product.buffers.c, problem.n, problem.output, row);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double allowed = problem.k > 0 ? size * tolerance(problem, expected[i]) : 0;
      if (std::abs(got[i] - expected[i]) <= allowed) continue;  // false for NaN
      mismatch(rank, fmt::format("the gradient ({}, {}) of the weights of its expert {} is {}, "
                                 "expected {} +- {:.2g}",
                                 row, i, group, got[i], expected[i], allowed));
    }
  }
}

// Of each choice of some tokens the product of its expert's row and the gradient of the result; the
// rank of the expert knows the row.
void MoeLayer::verify_dweights(Rank& rank, std::uint64_t fills) const {
  const auto columns = index_of(shape().hidden), chosen = index_of(shape().chosen);
  const std::size_t tokens = index_of(shape().tokens), ranks = index_of(rank.size);
  const std::vector<std::vector<float>> douts = of_all_ranks(rank, fills, &MoeMemory::gradient);
  const std::vector<float> products = values_of(tensors_.products);
  std::vector<double> mine(2 * ranks * tokens * chosen);  // products, and sums of absolute values
  each_row([&](std::int64_t row, std::int64_t token, std::int64_t choice) {
    const float* const dout = &douts[index_of(token) / tokens][index_of(token) % tokens * columns];
    const std::size_t at = 2 * (index_of(token) * chosen + index_of(choice));
    for (std::size_t c = 0; c < columns; ++c) {
      const double product =
          static_cast<double>(dout[c]) * static_cast<double>(products[index_of(row) * columns + c]);
      mine[at] += product;
      mine[at + 1] += std::abs(product);
    }
  });
  const auto all = rank.team.gather(
      rank, {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double)},
      "the other ranks to verify", kMoeDeadline);
  std::vector<double> sums(mine.size()), theirs(mine.size());
  for (const std::string& bytes : *all) {
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += theirs[i];
  }
  const std::vector<float> found = values_of(tensors_.dweights);
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t j = 0; j < chosen; ++j) {
      const std::size_t at = 2 * ((index_of(rank.index) * tokens + token) * chosen + j);
      const auto got =
          static_cast<double>(found[token * index_of(columns_of_gradient(shape().chosen)) + j]);
      // In fp32; of per_expert rows are rounded once more on their way, but not those that are
      // here.
      const double allowed = (rounding_of(shape().dtype) + 1e-4) * sums[at + 1];
      if (std::abs(got - sums[at]) <= allowed) continue;  // false for NaN
      mismatch(rank,
               fmt::format("the gradient of weight {} of token {} is {}, expected {} +- {:.2g}", j,
                           token, got, sums[at], allowed));
    }
  }
}

}  // namespace duet
