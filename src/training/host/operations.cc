#include "training/host/operations.h"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "training/gemm_plans.h"
#include "training/host/activations.h"
#include "training/host/attention.h"
#include "training/host/embedding.h"
#include "training/host/layer_norm.h"
#include "training/host/loss.h"
#include "training/host/optimisers.h"

namespace duet {
namespace {

float* data(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.span.data); }
const std::int32_t* integers(const Tensor& tensor) {
  return reinterpret_cast<const std::int32_t*>(tensor.span.data);
}
Matrix<float> matrix(const Tensor& tensor) { return {data(tensor), tensor.rows, tensor.columns}; }

double bytes_of(std::initializer_list<const Tensor*> tensors) {
  double sum = 0;
  for (const Tensor* each : tensors) sum += static_cast<double>(each->bytes());
  return sum;
}

class CpuOperations : public Operations {
 public:
  explicit CpuOperations(Device& device)
      : device_(device), threads_(device.info().compute_units), gemms_(device) {}

  void advance(Stream& stream, const Span& state) override {
    run(stream, "advance", 0, sizeof(StepState), state,
        [=] { ++reinterpret_cast<StepState*>(state.data)->step; });
  }

  void random_tokens(Stream& stream, const Span& state, std::int64_t vocabulary,
                     std::uint64_t column, const Tensor& tokens) override {
    run(stream, "random tokens", 0, bytes_of({&tokens}), tokens.span, [=] {
      const auto& now = *reinterpret_cast<const StepState*>(state.data);
      const std::uint64_t seed = now.seed + 2 * static_cast<std::uint64_t>(now.step) + column;
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
                          const Tensor& dtoken_table, const Tensor& dposition_table) override {
    run(stream, "embedding backward", 0, 3 * bytes_of({&dx}), dx, [=] {
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
                           const Tensor& dx, Accumulate accumulate) override {
    const double moved = 2 * bytes_of({&norm.x, &dy}) + bytes_of({&dx});
    run(stream, "layer norm backward", 0, moved, dx, [=] {
      const LayerNormed<float> forward{matrix(norm.x), data(norm.weight), data(norm.mean),
                                       data(norm.inverse_deviation)};
      layer_norm_backward_parameters<float>(forward, matrix(dy), data(norm.weight_gradient),
                                            data(norm.bias_gradient));
      layer_norm_backward_input<float>(forward, matrix(dy), matrix(dx), accumulate);
    });
  }

  void linear(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
              Accumulate accumulate) override {
    require(x.columns == w.columns && y.rows == x.rows && y.columns == w.rows, "linear");
    multiply(stream, {x.rows, w.rows, x.columns}, Layout::nt, accumulate, {x.span, w.span, y.span});
  }

  void linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w,
                             const Tensor& dx) override {
    require(dy.columns == w.rows && dx.rows == dy.rows && dx.columns == w.columns,
            "linear backward by its input");
    multiply(stream, {dy.rows, w.columns, dy.columns}, Layout::nn, Accumulate::no,
             {dy.span, w.span, dx.span});
  }

  void linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x,
                              const Tensor& dw) override {
    require(dy.rows == x.rows && dw.rows == dy.columns && dw.columns == x.columns,
            "linear backward by its weight");
    multiply(stream, {dw.rows, dw.columns, dy.rows}, Layout::tn, Accumulate::yes,
             {dy.span, x.span, dw.span});
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

  void attention(Stream& stream, const AttentionTensors& t) override {
    const AttentionShape shape = checked_shape(t);
    run(stream, "attention", 2 * products(shape), bytes_of({&t.qkv, &t.out}), t.out,
        [=] { duet::attention<float>(shape, data(t.qkv), data(t.out), data(t.log_sum_exp)); });
  }

  void attention_backward(Stream& stream, const AttentionTensors& t, const Tensor& dout,
                          const Tensor& dqkv) override {
    const AttentionShape shape = checked_shape(t);
    const double moved = bytes_of({&t.qkv, &t.out, &dout, &dqkv});
    run(stream, "attention backward", 5 * products(shape), moved, dqkv, [=] {
      duet::attention_backward<float>(shape, data(t.qkv), data(t.out), data(t.log_sum_exp),
                                      data(dout), data(dqkv));
    });
  }

  void cross_entropy(Stream& stream, const Tensor& logits, std::int64_t vocabulary,
                     const Tensor& targets, const Tensor& row_losses, const Tensor& loss) override {
    require(targets.count() == logits.rows && row_losses.count() == logits.rows, "cross entropy");
    run(stream, "cross entropy", 0, 2 * bytes_of({&logits}), loss, [=] {
      const double mean =
          duet::cross_entropy<float>(matrix(logits), vocabulary, integers(targets),
                                     1.0 / static_cast<double>(logits.rows), data(row_losses));
      *data(loss) = static_cast<float>(mean);
    });
  }

  void adamw(Stream& stream, const AdamWOptions& options, const Span& state,
             const AdamWTensors& t) override {
    run(stream, "adamw", 0, 7 * bytes_of({&t.parameters}), t.parameters, [=] {
      const auto& now = *reinterpret_cast<const StepState*>(state.data);
      const AdamW settings{now.learning_rate, options.beta1, options.beta2, options.eps,
                           options.weight_decay};
      duet::adamw<float>(settings, now.step, data(t.gradients), now.gradient_factor,
                         {data(t.parameters), data(t.first_moments), data(t.second_moments),
                          t.parameters.count()});
    });
  }

 private:
  struct Sides {
    std::int64_t m, n, k;
  };

  static void require(bool holds, const char* operation) {
    if (!holds) throw BadArgument(fmt::format("{}: expected tensors of fitting shapes", operation));
  }

  static const AttentionShape& checked_shape(const AttentionTensors& t) {
    const AttentionShape& shape = t.shape;
    require(shape.elements() == t.out.count() && 3 * shape.elements() == t.qkv.count() &&
                shape.rows() == t.log_sum_exp.count(),
            "attention");
    return shape;
  }

  // FLOP of one of attention's products, the half that is not masked.
  static double products(const AttentionShape& s) {
    return static_cast<double>(s.elements()) * static_cast<double>(s.tokens);
  }

  void multiply(Stream& stream, const Sides& sides, Layout layout, Accumulate accumulate,
                const GemmBuffers& buffers) {
    gemms_.enqueue(stream,
                   {sides.m, sides.n, sides.k, DType::fp32, DType::fp32, layout,
                    accumulate == Accumulate::yes},
                   buffers);
  }

  void run(Stream& stream, const char* name, double flop, double memory_bytes, const Tensor& result,
           std::function<void()> body) {
    run(stream, name, flop, memory_bytes, result.span, std::move(body));
  }

  // `result` decides whether the tensors have contents.
  void run(Stream& stream, const char* name, double flop, double memory_bytes, const Span& result,
           std::function<void()> body) {
    Task task{name, {flop, DType::fp32, memory_bytes}, {}};
    if (device_.has_contents(result)) {
      task.body = [threads = threads_, body = std::move(body)] {
        omp_set_num_threads(threads);
        body();
      };
    }
    stream.run(task);
  }

  Device& device_;
  int threads_;
  GemmPlans gemms_;
};

}  // namespace

std::unique_ptr<Operations> make_cpu_operations(Device& device) {
  return std::make_unique<CpuOperations>(device);
}

}  // namespace duet
