#include "training/host/operations.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "core/affinity.h"
#include "core/error.h"
#include "core/random.h"
#include "training/host/activations.h"
#include "training/host/attention.h"
#include "training/host/embedding.h"
#include "training/host/layer_norm.h"
#include "training/host/loss.h"
#include "training/host/optimisers.h"
#include "training/host/quantise.h"
#include "training/host/rms_norm.h"
#include "training/host/rotary.h"
#include "training/operations/linear_operations.h"

namespace duet {
namespace {

float* data(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.span.data); }
const std::int32_t* integers(const Tensor& tensor) {
  return reinterpret_cast<const std::int32_t*>(tensor.span.data);
}
// Sets what is outside of blocks, as those of Operations::keep_blocks(), to 0.
void clear_outside(const std::vector<RowRange>& blocks, Matrix<float> matrix) {
  const std::int64_t width = matrix.columns / static_cast<std::int64_t>(blocks.size());
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    float* begin = matrix.row(i);
    for (const RowRange& each : blocks) {
      if (i < each.first || i >= each.last) std::fill_n(begin, width, 0.0f);
      begin += width;
    }
  }
}

std::uint8_t* bytes(const Tensor& tensor) {
  return reinterpret_cast<std::uint8_t*>(tensor.span.data);
}
Matrix<float> matrix(const Tensor& tensor) { return {data(tensor), tensor.rows, tensor.columns}; }

double bytes_of(std::initializer_list<const Tensor*> tensors) {
  double sum = 0;
  for (const Tensor* each : tensors) sum += static_cast<double>(each->bytes());
  return sum;
}

// A simulated GPU has more compute units than this machine has cores.
int threads_for(const Device& device) {
  const std::size_t cores = allowed_cores().size();
  const int units = device.info().compute_units;
  return cores == 0 ? units : std::min(units, static_cast<int>(cores));
}

class CpuOperations : public LinearOperations {
 public:
  CpuOperations(Device& device, const OperationsOptions& options)
      : LinearOperations(device, options), device_(device), threads_(threads_for(device)) {}

  bool computes(const Tensor& tensor) const override {
    return tensor.dtype == DType::fp32 && device_.has_contents(tensor.span);
  }

  void fill_normal(Stream& stream, std::uint64_t seed, std::int64_t first, double deviation,
                   const Tensor& tensor) override {
    run(stream, "normal", 0, bytes_of({&tensor}), tensor, [=] {
      const auto scale = static_cast<float>(deviation);
      float* const to = data(tensor);
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < tensor.count(); ++i) {
        to[i] = scale * random_normal(seed, static_cast<std::uint64_t>(first + i));
      }
    });
  }

  void fill_value(Stream& stream, double value, const Tensor& tensor) override {
    run(stream, "value", 0, bytes_of({&tensor}), tensor,
        [=] { std::fill_n(data(tensor), tensor.count(), static_cast<float>(value)); });
  }

  void scale(Stream& stream, double factor, const Tensor& tensor) override {
    run(stream, "scale", 0, 2 * bytes_of({&tensor}), tensor, [=] {
      float* const values = data(tensor);
      for (std::int64_t i = 0; i < tensor.count(); ++i) values[i] *= static_cast<float>(factor);
    });
  }

  void keep_blocks(Stream& stream, const std::vector<RowRange>& blocks,
                   const Tensor& matrix) override {
    require(blocks_fit(blocks, matrix), "blocks to keep");
    run(stream, "blocks", 0, bytes_of({&matrix}), matrix,
        [=] { clear_outside(blocks, duet::matrix(matrix)); });
  }

  void advance(Stream& stream, const Span& state) override {
    run(stream, "advance", sizeof(StepState), state,
        [=] { ++reinterpret_cast<StepState*>(state.data)->step; });
  }

  void random_tokens(Stream& stream, const Span& state, std::int64_t vocabulary,
                     std::uint64_t column, const Tensor& tokens) override {
    run(stream, "random tokens", bytes_of({&tokens}), tokens.span, [=] {
      const std::uint64_t seed = seed_of(*reinterpret_cast<const StepState*>(state.data), column);
      auto* const to = reinterpret_cast<std::int32_t*>(tokens.span.data);
      for (std::int64_t i = 0; i < tokens.count(); ++i) {
        const std::uint64_t word = random_word(seed, static_cast<std::uint64_t>(i));
        to[i] = static_cast<std::int32_t>(word % static_cast<std::uint64_t>(vocabulary));
      }
    });
  }

  void embedding(Stream& stream, const Tensor& tokens, const Tensor& token_table,
                 const Tensor& position_table, const Tensor& x) override {
    run(stream, "embedding", 0, 2 * bytes_of({&x}), x, [=] {
      duet::embedding<float>(integers(tokens), position_table.rows, matrix(token_table),
                             matrix(position_table), matrix(x));
    });
  }

  void embedding_backward(Stream& stream, const Tensor& tokens, const Tensor& dx,
                          const Tensor& dtoken_table, const Tensor& dposition_table,
                          Accumulate positions) override {
    run(stream, "embedding backward", 0, 3 * bytes_of({&dx}), dx, [=] {
      clear_unless(positions, dposition_table);
      duet::embedding_backward<float>(integers(tokens), dposition_table.rows, matrix(dx),
                                      matrix(dtoken_table), matrix(dposition_table));
    });
  }

  void layer_norm(Stream& stream, const NormTensors& norm, const Tensor& y) override {
    run(stream, "layer norm", 0, bytes_of({&norm.x, &y}), y, [=] {
      duet::layer_norm<float>(matrix(norm.x), data(norm.weight), data(norm.bias), matrix(y),
                              data(norm.mean), data(norm.inverse_deviation));
    });
  }

  void layer_norm_backward(Stream& stream, const NormTensors& norm, const Tensor& dy,
                           const Tensor& dx, Accumulate accumulate, Accumulate gradients) override {
    const double moved =
        bytes_of({&norm.x, &dy, &dx}) + (accumulate == Accumulate::yes ? bytes_of({&dx}) : 0);
    run(stream, "layer norm backward", 0, moved, dx, [=] {
      clear_unless(gradients, norm.weight_gradient);
      clear_unless(gradients, norm.bias_gradient);
      const LayerNormed<float> forward{matrix(norm.x), data(norm.weight), data(norm.mean),
                                       data(norm.inverse_deviation)};
      layer_norm_backward_parameters<float>(forward, matrix(dy), data(norm.weight_gradient),
                                            data(norm.bias_gradient));
      layer_norm_backward_input<float>(forward, matrix(dy), matrix(dx), accumulate);
    });
  }

  void rms_norm(Stream& stream, const RmsNormTensors& norm, const Tensor& y) override {
    require_norm(norm, y, "rms norm");
    run(stream, "rms norm", 0, bytes_of({&norm.x, &y}), y, [=] {
      duet::rms_norm<float>(matrix(norm.x), data(norm.weight), matrix(y), data(norm.inverse_rms));
    });
  }

  void rms_norm_backward(Stream& stream, const RmsNormTensors& norm, const Tensor& dy,
                         const Tensor& dx, Accumulate accumulate, Accumulate gradients) override {
    require_norm(norm, dy, "rms norm backward");
    require_norm(norm, dx, "rms norm backward");
    const double moved =
        bytes_of({&norm.x, &dy, &dx}) + (accumulate == Accumulate::yes ? bytes_of({&dx}) : 0);
    run(stream, "rms norm backward", 0, moved, dx, [=] {
      const RmsNormed<float> forward{matrix(norm.x), data(norm.weight), data(norm.inverse_rms)};
      if (norm.weight_gradient.count() > 0) {
        clear_unless(gradients, norm.weight_gradient);
        rms_norm_backward_weight<float>(forward, matrix(dy), data(norm.weight_gradient));
      }
      rms_norm_backward_input<float>(forward, matrix(dy), matrix(dx), accumulate);
    });
  }

  void random_elements(Stream& stream, const Span& state, std::uint64_t column,
                       const Tensor& tensor) override {
    run(stream, "random elements", 0, bytes_of({&tensor}), tensor, [=] {
      const std::uint64_t seed = seed_of(*reinterpret_cast<const StepState*>(state.data), column);
      float* const to = data(tensor);
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < tensor.count(); ++i) {
        to[i] = duet::random_normal(seed, static_cast<std::uint64_t>(i));
      }
    });
  }

  void relu(Stream& stream, const Tensor& x, const Tensor& y) override {
    require(x.count() == y.count(), "relu");
    run(stream, "relu", 0, bytes_of({&x, &y}), y,
        [=] { duet::relu<float>(data(x), data(y), x.count()); });
  }

  void relu_backward(Stream& stream, const Tensor& y, const Tensor& dy, const Tensor& dx) override {
    require(y.count() == dy.count() && y.count() == dx.count(), "relu backward");
    run(stream, "relu backward", 0, bytes_of({&y, &dy, &dx}), dx,
        [=] { duet::relu_backward<float>(data(y), data(dy), data(dx), y.count()); });
  }

  void gelu(Stream& stream, const Tensor& x, const Tensor& y) override {
    require(x.count() == y.count(), "gelu");
    run(stream, "gelu", 0, bytes_of({&x, &y}), y,
        [=] { duet::gelu<float>(data(x), data(y), x.count()); });
  }

  void gelu_backward(Stream& stream, const Tensor& x, const Tensor& dy, const Tensor& dx) override {
    require(x.count() == dy.count() && x.count() == dx.count(), "gelu backward");
    run(stream, "gelu backward", 0, bytes_of({&x, &dy, &dx}), dx,
        [=] { duet::gelu_backward<float>(data(x), data(dy), data(dx), x.count()); });
  }

  void magnitude(Stream& stream, const Tensor& x, const Tensor& magnitude) override {
    require(magnitude.count() == 1, "magnitude");
    run(stream, "magnitude", 0, bytes_of({&x}), x,
        [=] { *data(magnitude) = largest_magnitude(data(x), x.count()); });
  }

  void quantise(Stream& stream, const Tensor& x, const Tensor& magnitude,
                const Quantised& to) override {
    require(to.fits(x, magnitude), "quantise");
    run(stream, "quantise", 0, bytes_of({&x, &to.values, &to.transposed}), x, [=] {
      const Quantisation by = quantisation(*data(magnitude), largest_of(to.dtype()));
      *data(to.scale) = by.scale;
      const bool plain = to.values.count() > 0, turned = to.transposed.count() > 0;
      duet::quantise(matrix(x), by.factor, to.dtype(), plain ? bytes(to.values) : nullptr,
                     turned ? bytes(to.transposed) : nullptr);
    });
  }

  // By loops on host devices, which have no GEMM engine for fp8.
  void multiply_scaled(Stream& stream, const ScaledTensor& a, const ScaledTensor& b,
                       const Tensor& addend, const Tensor& y, Sums sums) override {
    if (!device_.info().is_cpu) {
      return LinearOperations::multiply_scaled(stream, a, b, addend, y, sums);
    }
    require_scaled(a, b, addend, y);
    run(stream, "product of quantised tensors", 0, 0, y, [=] {
      const float* const added = addend.count() > 0 ? data(addend) : nullptr;
      multiply_quantised({bytes(a.values), a.values.rows, a.values.columns}, a.values.dtype,
                         {bytes(b.values), b.values.rows, b.values.columns},
                         *data(a.scale) * *data(b.scale), added, data(y));
    });
  }

  void rotate(Stream& stream, const RotaryTensors& t, const Tensor& rotated) override {
    require(t.fit(rotated), "rotate");
    run(stream, "rotate", 0, bytes_of({&t.qkv, &rotated}), rotated,
        [=] { rotate_heads<float>(rotary_heads(t), data(rotated), data(t.inverse_rms)); });
  }

  void rotate_backward(Stream& stream, const RotaryTensors& t, const Tensor& drotated,
                       const Tensor& dqkv, Accumulate gradients) override {
    require(t.fit(drotated) && t.fit(dqkv) && t.gradients_fit(), "rotate backward");
    const double read = t.normalises() ? bytes_of({&t.qkv, &drotated}) : bytes_of({&drotated});
    run(stream, "rotate backward", 0, read + bytes_of({&dqkv}), dqkv, [=] {
      clear_unless(gradients, t.q_weight_gradient);
      clear_unless(gradients, t.k_weight_gradient);
      rotate_heads_backward<float>(rotary_heads(t), data(t.inverse_rms), data(drotated), data(dqkv),
                                   data(t.q_weight_gradient), data(t.k_weight_gradient));
    });
  }

  void swiglu(Stream& stream, const Tensor& gate_up, const Tensor& y) override {
    require(gate_up.rows == y.rows && gate_up.columns == 2 * y.columns, "swiglu");
    run(stream, "swiglu", 0, bytes_of({&gate_up, &y}), y,
        [=] { duet::swiglu<float>(matrix(gate_up), matrix(y)); });
  }

  void swiglu_backward(Stream& stream, const Tensor& gate_up, const Tensor& dy,
                       const Tensor& dgate_up) override {
    require(gate_up.rows == dy.rows && gate_up.columns == 2 * dy.columns &&
                dgate_up.rows == dy.rows && dgate_up.columns == gate_up.columns,
            "swiglu backward");
    run(stream, "swiglu backward", 0, bytes_of({&gate_up, &dy, &dgate_up}), dgate_up,
        [=] { duet::swiglu_backward<float>(matrix(gate_up), matrix(dy), matrix(dgate_up)); });
  }

  void attention(Stream& stream, const AttentionTensors& t) override {
    const AttentionShape shape = checked_shape(t);
    const Demand demand = {2 * products(shape), t.out.dtype, bytes_of({&t.qkv, &t.out}), 0,
                           attention_efficiency(shape, kBestForward)};
    run(stream, "attention", demand, t.out,
        [=] { duet::attention<float>(shape, data(t.qkv), data(t.out), data(t.log_sum_exp)); });
  }

  void attention_backward(Stream& stream, const AttentionTensors& t, const Tensor& dout,
                          const Tensor& dqkv) override {
    const AttentionShape shape = checked_shape(t);
    require(dout.count() == t.out.count() && dqkv.count() == t.qkv.count(), "attention backward");
    const double moved = bytes_of({&t.qkv, &t.out, &dout, &dqkv});
    const Demand demand = {5 * products(shape), dqkv.dtype, moved, 0,
                           attention_efficiency(shape, kBestBackward)};
    run(stream, "attention backward", demand, dqkv, [=] {
      duet::attention_backward<float>(shape, data(t.qkv), data(t.out), data(t.log_sum_exp),
                                      data(dout), data(dqkv));
    });
  }

  void cross_entropy(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                     const Tensor& targets, const Tensor& row_losses, const Tensor& loss) override {
    require(targets.count() == logits.rows && row_losses.count() == logits.rows, "cross entropy");
    run(stream, "cross entropy", 0, 2 * bytes_of({&logits}), logits, [=] {
      const double mean =
          duet::cross_entropy<float>(matrix(logits), vocabulary, integers(targets),
                                     1.0 / static_cast<double>(logits.rows), data(row_losses));
      *data(loss) = static_cast<float>(mean);
    });
  }

  void cross_entropy_piece(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                           const Tensor& targets, std::int64_t batch_rows,
                           const Tensor& row_losses) override {
    require(targets.count() == logits.rows && row_losses.count() == logits.rows &&
                batch_rows >= logits.rows,
            "cross entropy of a piece");
    run(stream, "cross entropy", 0, 2 * bytes_of({&logits}), logits, [=] {
      duet::cross_entropy<float>(matrix(logits), vocabulary, integers(targets),
                                 1.0 / static_cast<double>(batch_rows), data(row_losses));
    });
  }

  void mean(Stream& stream, const Tensor& values, const Tensor& mean) override {
    run(stream, "mean", 0, bytes_of({&values}), values, [=] {
      *data(mean) = static_cast<float>(mean_of_values<float>(data(values), values.count()));
    });
  }

  void mean_squared_error(Stream& stream, const Tensor& prediction, const Tensor& target,
                          const Tensor& row_losses, const Tensor& loss) override {
    require(prediction.count() == target.count() && row_losses.count() == prediction.rows,
            "mean squared error");
    run(stream, "mean squared error", 0, 2 * bytes_of({&prediction, &target}), prediction, [=] {
      const double mean = duet::mean_squared_error<float>(
          matrix(prediction), matrix(target), 1.0 / static_cast<double>(prediction.count()),
          matrix(prediction), data(row_losses));
      *data(loss) = static_cast<float>(mean);
    });
  }

  void sgd(Stream& stream, const Span& state, const OptimizerTensors& t) override {
    const double moved =
        bytes_of({&t.gradients, &t.parameters, &t.parameters, &t.master, &t.master});
    run(stream, "sgd", 0, moved, t.parameters, [=] {
      const auto& now = *reinterpret_cast<const StepState*>(state.data);
      duet::sgd<float>(now.learning_rate, data(t.gradients), now.gradient_factor,
                       data(t.parameters), t.parameters.count());
    });
  }

  void sum_of_squares(Stream& stream, const std::vector<Tensor>& gradients,
                      const Tensor& sum) override {
    double moved = 0;
    for (const Tensor& each : gradients) moved += bytes_of({&each});
    run(stream, "squares", 0, moved, gradients.front(), [=] {
      double squares = 0;
      for (const Tensor& each : gradients) {
        squares += squared_norm<float>(data(each), each.count());
      }
      *data(sum) = static_cast<float>(squares);
    });
  }

  void clip(Stream& stream, const Span& state, const Tensor& squares, double scale, double limit,
            const Tensor& norm) override {
    run(stream, "clip", 0, bytes_of({&squares, &norm}), squares, [=] {
      const double length = scale * std::sqrt(static_cast<double>(*data(squares)));
      *data(norm) = static_cast<float>(length);
      reinterpret_cast<StepState*>(state.data)->gradient_factor =
          scale * clip_factor(length, limit);
    });
  }

  void adamw(Stream& stream, const AdamWOptions& options, const Span& state,
             const OptimizerTensors& t) override {
    const double read = bytes_of({&t.gradients, &t.first_moments, &t.second_moments, &t.master});
    const double written =
        bytes_of({&t.parameters, &t.first_moments, &t.second_moments, &t.master});
    const double moved = read + written + (t.master.count() == 0 ? bytes_of({&t.parameters}) : 0);
    run(stream, "adamw", 0, moved, t.parameters, [=] {
      const auto& now = *reinterpret_cast<const StepState*>(state.data);
      const AdamW settings{now.learning_rate, options.beta1, options.beta2, options.eps,
                           options.weight_decay};
      duet::adamw<float>(settings, now.step, data(t.gradients), now.gradient_factor,
                         {data(t.parameters), data(t.first_moments), data(t.second_moments),
                          t.parameters.count()});
    });
  }

 private:
  static const AttentionShape& checked_shape(const AttentionTensors& t) {
    require(t.fit(), "attention");
    return t.shape;
  }

  static void require_norm(const RmsNormTensors& norm, const Tensor& y, const char* operation) {
    require(norm.x.rows == y.rows && norm.x.columns == y.columns &&
                norm.weight.count() == y.columns && norm.inverse_rms.count() == y.rows,
            operation);
  }

  static RotaryHeads<float> rotary_heads(const RotaryTensors& t) {
    const bool normed = t.normalises();
    return {t.shape, t.theta, data(t.qkv), normed ? data(t.q_weight) : nullptr,
            normed ? data(t.k_weight) : nullptr};
  }

  // The share of the peak that attention reaches on a simulated GPU, as cuDNN 9.19's does on an
  // H200: of long sequences of heads of 128 elements this, and less of the usual ones (docs/
  // training.md has the measured times).
  static constexpr double kBestForward = 0.63, kBestBackward = 0.44;
  static double attention_efficiency(const AttentionShape& s, double best) {
    constexpr double kHalfTokens = 370, kWholeHead = 128;
    const auto tokens = static_cast<double>(s.tokens), head = static_cast<double>(s.head_dim);
    return best * tokens / (tokens + kHalfTokens) * std::pow(std::min(1.0, head / kWholeHead), 0.8);
  }

  // FLOP of one of attention's products, the half that is not masked.
  static double products(const AttentionShape& s) {
    return static_cast<double>(s.elements()) * static_cast<double>(s.tokens);
  }

  static void clear_unless(Accumulate accumulate, const Tensor& tensor) {
    if (accumulate == Accumulate::no) std::fill_n(data(tensor), tensor.count(), 0.0f);
  }

  // `result` decides whether the tensors have contents.
  void run(Stream& stream, const char* name, double flop, double memory_bytes, const Tensor& result,
           std::function<void()> body) {
    run(stream, name, {flop, result.dtype, memory_bytes}, result, std::move(body));
  }

  void run(Stream& stream, const char* name, const Demand& demand, const Tensor& result,
           std::function<void()> body) {
    if (device_.info().is_cpu && result.dtype != DType::fp32) {
      throw Unavailable(fmt::format("{} trains in fp32, not in {} (recipe fp32)",
                                    device_.info().name, duet::name(result.dtype)));
    }
    start(stream, {name, demand, {}}, computes(result), std::move(body));
  }

  // Work on the state and on tokens.
  void run(Stream& stream, const char* name, double memory_bytes, const Span& result,
           std::function<void()> body) {
    start(stream, {name, {0, DType::fp32, memory_bytes}, {}}, device_.has_contents(result),
          std::move(body));
  }

  void start(Stream& stream, Task task, bool computes, std::function<void()> body) const {
    if (computes) {
      task.body = [threads = threads_, body = std::move(body)] {
        omp_set_num_threads(threads);
        body();
      };
    }
    stream.run(task);
  }

  Device& device_;
  int threads_;
};

}  // namespace

std::unique_ptr<Operations> make_cpu_operations(Device& device, const OperationsOptions& options) {
  return std::make_unique<CpuOperations>(device, options);
}

}  // namespace duet
