#include "training/host/operations.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "core/thread.h"
#include "device/sim/sim.h"
#include "training/host/activations.h"
#include "training/host/attention.h"
#include "training/host/embedding.h"
#include "training/host/experts.h"
#include "training/host/loss.h"
#include "training/host/norm.h"
#include "training/host/optimisers.h"
#include "training/host/quantise.h"
#include "training/host/rotary.h"
#include "training/operations/linear_operations.h"

namespace duet {
namespace {

float* data(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.span.data); }
const std::int32_t* integers(const Tensor& tensor) {
  return reinterpret_cast<const std::int32_t*>(tensor.span.data);
}
// Sets what is outside of KeepBlocks' blocks to 0.
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

StepState& state_in(const Span& span) { return *reinterpret_cast<StepState*>(span.data); }

std::uint8_t* bytes(const Tensor& tensor) {
  return reinterpret_cast<std::uint8_t*>(tensor.span.data);
}
Matrix<float> matrix(const Tensor& tensor) { return {data(tensor), tensor.rows, tensor.columns}; }
// The rows of groups; all where there are none.
Matrix<float> matrix(const Tensor& tensor, const GroupedRows& rows) {
  return {data(tensor), rows_there(rows, tensor.rows), tensor.columns};
}

// Of the rows that a tensor has room for, those that are expected.
double share_of(std::int64_t expected, std::int64_t rows) {
  return expected == 0 ? 1 : static_cast<double>(expected) / static_cast<double>(rows);
}

double bytes_of(std::initializer_list<const Tensor*> tensors) {
  double sum = 0;
  for (const Tensor* each : tensors) sum += static_cast<double>(each->bytes());
  return sum;
}

// Simulated devices have the contents of small tensors alone.
const Tensor& larger(const Tensor& a, const Tensor& b) { return a.bytes() > b.bytes() ? a : b; }

// A simulated GPU has more compute units than this machine has cores.
int threads_for(const Device& device) {
  const std::size_t cores = allowed_cores().size();
  const int units = device.info().compute_units;
  return cores == 0 ? units : std::min(units, static_cast<int>(cores));
}

class CpuOperations : public LinearOperations {
 public:
  CpuOperations(Device& device, const OperationsOptions& options)
      : LinearOperations(device, options), threads_(threads_for(device)) {}

  bool computes(const Tensor& tensor) const override {
    return tensor.dtype == DType::fp32 && has_contents(tensor.span);
  }
  void simulate_time_alone() override { time_alone_ = sim::model_of(device_) != nullptr; }

 private:
  using LinearOperations::enqueue;

  bool has_contents(const Span& span) const { return !time_alone_ && device_.has_contents(span); }

  void dispatch(Stream& stream, const AnyOperation& operation) override {
    std::visit([&](const auto& each) { enqueue(stream, each); }, operation);
  }

  void enqueue(Stream& stream, const FillNormal& o) {
    compute(stream, o, bytes_of({&o.tensor}), o.tensor, [=] {
      const auto scale = static_cast<float>(o.deviation);
      float* const to = data(o.tensor);
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < o.tensor.count(); ++i) {
        const std::int64_t row = i / o.tensor.columns, column = i % o.tensor.columns;
        const std::int64_t number = o.first + row * o.step() + column;
        to[i] = scale * random_normal(o.seed, static_cast<std::uint64_t>(number));
      }
    });
  }

  void enqueue(Stream& stream, const FillValue& o) {
    compute(stream, o, bytes_of({&o.tensor}), o.tensor,
            [=] { std::fill_n(data(o.tensor), o.tensor.count(), static_cast<float>(o.value)); });
  }

  void enqueue(Stream& stream, const Scale& o) {
    compute(stream, o, 2 * bytes_of({&o.tensor}), o.tensor, [=] {
      float* const values = data(o.tensor);
      for (std::int64_t i = 0; i < o.tensor.count(); ++i) values[i] *= static_cast<float>(o.factor);
    });
  }

  void enqueue(Stream& stream, const Add& o) {
    compute(stream, o, bytes_of({&o.a, &o.b, &o.sum}), o.sum, [=] {
      const float *const a = data(o.a), *const b = data(o.b);
      float* const sum = data(o.sum);
      for (std::int64_t i = 0; i < o.sum.count(); ++i) sum[i] = a[i] + b[i];
    });
  }

  void enqueue(Stream& stream, const KeepBlocks& o) {
    compute(stream, o, bytes_of({&o.matrix}), o.matrix,
            [=] { clear_outside(o.blocks, matrix(o.matrix)); });
  }

  void enqueue(Stream& stream, const Advance& o) {
    compute(stream, o, sizeof(StepState), o.state, [=] { ++state_in(o.state).step; });
  }

  void enqueue(Stream& stream, const RandomTokens& o) {
    compute(stream, o, bytes_of({&o.tokens}), o.tokens.span, [=] {
      const std::uint64_t seed = seed_of(state_in(o.state), o.column);
      auto* const to = reinterpret_cast<std::int32_t*>(o.tokens.span.data);
      for (std::int64_t i = 0; i < o.tokens.count(); ++i) {
        const std::uint64_t word = random_word(seed, static_cast<std::uint64_t>(i));
        to[i] = static_cast<std::int32_t>(word % static_cast<std::uint64_t>(o.vocabulary));
      }
    });
  }

  void enqueue(Stream& stream, const RandomElements& o) {
    compute(stream, o, bytes_of({&o.tensor}), o.tensor, [=] {
      const std::uint64_t seed = seed_of(state_in(o.state), o.column);
      float* const to = data(o.tensor);
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < o.tensor.count(); ++i) {
        to[i] = random_normal(seed, static_cast<std::uint64_t>(i));
      }
    });
  }

  void enqueue(Stream& stream, const Embedding& o) {
    compute(stream, o, 2 * bytes_of({&o.x}), o.x, [=] {
      embedding<float>(integers(o.tokens), o.position_table.rows, matrix(o.token_table),
                       matrix(o.position_table), matrix(o.x), o.part);
    });
  }

  void enqueue(Stream& stream, const EmbeddingBackward& o) {
    compute(stream, o, 3 * bytes_of({&o.dx}), o.dx, [=] {
      clear_unless(o.positions, o.dposition_table);
      embedding_backward<float>(integers(o.tokens), o.dposition_table.rows, matrix(o.dx),
                                matrix(o.dtoken_table), matrix(o.dposition_table), o.part);
    });
  }

  void enqueue(Stream& stream, const ChooseExperts& o) {
    const double moved = bytes_of({&o.logits, &o.routing});
    if (o.logits.dtype != DType::fp32) return compute(stream, o, moved, o.logits, {});
    compute(stream, o, moved, o.routing.span, [=] { choose_experts(o); });
  }

  void enqueue(Stream& stream, const ChooseExpertsBackward& o) {
    compute(stream, o, bytes_of({&o.routing, &o.dweights, &o.dlogits}), o.dlogits,
            [=] { choose_experts_backward(o); });
  }

  void enqueue(Stream& stream, const GroupRows& o) {
    compute(stream, o, bytes_of({&o.choices, &o.tokens, &o.sorted, &o.places}),
            larger(o.choices, o.places).span, [=] { group_rows(o); });
  }

  void enqueue(Stream& stream, const GatherRows& o) {
    const double moved = 2 * bytes_of({&o.y}) * share_of(o.expected_rows, o.y.rows);
    if (o.y.dtype != DType::fp32)
      return compute(stream, o, moved, o.y.span, [=] { gather_rows(o); });
    compute(stream, o, moved, o.y, [=] { gather_rows(o); });
  }

  void enqueue(Stream& stream, const CombineRows& o) {
    compute(stream, o, bytes_of({&o.x, &o.places, &o.y}), larger(o.x, o.y),
            [=] { combine_rows(o); });
  }

  void enqueue(Stream& stream, const CombineRowsBackward& o) {
    const double rows = bytes_of({&o.x, &o.dx}) * share_of(o.expected_rows, o.x.rows);
    compute(stream, o, rows + bytes_of({&o.places, &o.dy, &o.dweights}), larger(o.x, o.dy),
            [=] { combine_rows_backward(o); });
  }

  void enqueue(Stream& stream, const GroupedLinear& o) {
    compute(stream, o, products(o.rows, o.x, o.w, o.y, false), larger(larger(o.x, o.y), o.w),
            [=] { grouped_linear(o); });
  }

  void enqueue(Stream& stream, const GroupedLinearBackwardInput& o) {
    compute(stream, o, products(o.rows, o.dy, o.w, o.dx, false), larger(larger(o.dy, o.dx), o.w),
            [=] { grouped_linear_backward_input(o); });
  }

  void enqueue(Stream& stream, const GroupedLinearBackwardWeight& o) {
    compute(stream, o, products(o.rows, o.dy, o.dw, o.x, true), larger(larger(o.dy, o.x), o.dw),
            [=] { grouped_linear_backward_weight(o); });
  }

  void enqueue(Stream& stream, const LimitChoices& o) {
    compute(stream, o, bytes_of({&o.routing, &o.places}), o.routing.span,
            [=] { limit_choices(o); });
  }

  void enqueue(Stream& stream, const QuantiseRows& o) {
    compute(stream, o, bytes_of({&o.x, &o.y}), o.x, [=] { quantise_rows(o); });
  }

  void enqueue(Stream& stream, const GatherFp8Rows& o) {
    const double read = static_cast<double>(o.y.rows * o.x.columns);
    compute(stream, o, read + bytes_of({&o.y}), o.y, [=] { gather_fp8_rows(o); });
  }

  void enqueue(Stream& stream, const Norm& o) {
    compute(stream, o, bytes_of({&o.norm.x, &o.y}), o.y,
            [=] { norm<float>(norm_rows(o.norm), matrix(o.y)); });
  }

  void enqueue(Stream& stream, const NormBackward& o) {
    const double again = o.accumulate == Accumulate::yes ? bytes_of({&o.dx}) : 0;
    compute(stream, o, bytes_of({&o.norm.x, &o.dy, &o.dx}) + again, o.dx, [=] {
      const Tensor &dweight = o.norm.weight_gradient, &dbias = o.norm.bias_gradient;
      if (dweight.count() > 0) {
        clear_unless(o.gradients, dweight);
        clear_unless(o.gradients, dbias);
        norm_backward_parameters<float>(norm_rows(o.norm), matrix(o.dy), data(dweight),
                                        data(dbias));
      }
      norm_backward_input<float>(norm_rows(o.norm), matrix(o.dy), matrix(o.dx), o.accumulate);
    });
  }

  void enqueue(Stream& stream, const Relu& o) {
    compute(stream, o, bytes_of({&o.x, &o.y}), o.y,
            [=] { relu<float>(data(o.x), data(o.y), o.x.count()); });
  }

  void enqueue(Stream& stream, const ReluBackward& o) {
    compute(stream, o, bytes_of({&o.y, &o.dy, &o.dx}), o.dx,
            [=] { relu_backward<float>(data(o.y), data(o.dy), data(o.dx), o.y.count()); });
  }

  void enqueue(Stream& stream, const Gelu& o) {
    compute(stream, o, bytes_of({&o.x, &o.y}), o.y,
            [=] { gelu<float>(data(o.x), data(o.y), o.x.count()); });
  }

  void enqueue(Stream& stream, const GeluBackward& o) {
    compute(stream, o, bytes_of({&o.x, &o.dy, &o.dx}), o.dx,
            [=] { gelu_backward<float>(data(o.x), data(o.dy), data(o.dx), o.x.count()); });
  }

  void enqueue(Stream& stream, const Magnitude& o) {
    compute(stream, o, bytes_of({&o.x}), o.x,
            [=] { *data(o.magnitude) = largest_magnitude(data(o.x), o.x.count()); });
  }

  void enqueue(Stream& stream, const Quantise& o) {
    compute(stream, o, bytes_of({&o.x, &o.to.values, &o.to.transposed}), o.x, [=] {
      const DType dtype = o.to.dtype();
      const Quantisation by = quantisation(*data(o.magnitude), largest_of(dtype));
      *data(o.to.scale) = by.scale;
      const bool plain = o.to.values.count() > 0, turned = o.to.transposed.count() > 0;
      quantise(matrix(o.x), by.factor, dtype, plain ? bytes(o.to.values) : nullptr,
               turned ? bytes(o.to.transposed) : nullptr);
    });
  }

  // By loops on host devices, which have no GEMM engine for fp8.
  void enqueue(Stream& stream, const MultiplyScaled& o) {
    if (!device_.info().is_cpu) return LinearOperations::enqueue(stream, o);
    compute(stream, o, 0, o.y, [=] {
      const Tensor &a = o.a.values, &b = o.b.values;
      const float* const added = o.addend.count() > 0 ? data(o.addend) : nullptr;
      multiply_quantised({bytes(a), a.rows, a.columns}, a.dtype, {bytes(b), b.rows, b.columns},
                         *data(o.a.scale) * *data(o.b.scale), added, data(o.y));
    });
  }

  void enqueue(Stream& stream, const Rotate& o) {
    compute(stream, o, bytes_of({&o.tensors.qkv, &o.rotated}), o.rotated, [=] {
      rotate_heads<float>(rotary_heads(o.tensors), data(o.rotated), data(o.tensors.inverse_rms));
    });
  }

  void enqueue(Stream& stream, const RotateBackward& o) {
    const double read =
        o.tensors.normalises() ? bytes_of({&o.tensors.qkv, &o.drotated}) : bytes_of({&o.drotated});
    compute(stream, o, read + bytes_of({&o.dqkv}), o.dqkv, [=] {
      const RotaryTensors& t = o.tensors;
      clear_unless(o.gradients, t.q_weight_gradient);
      clear_unless(o.gradients, t.k_weight_gradient);
      rotate_heads_backward<float>(rotary_heads(t), data(t.inverse_rms), data(o.drotated),
                                   data(o.dqkv), data(t.q_weight_gradient),
                                   data(t.k_weight_gradient));
    });
  }

  void enqueue(Stream& stream, const SwiGlu& o) {
    const double there = share_of(o.rows.expected_rows, o.y.rows);
    compute(stream, o, there * bytes_of({&o.gate_up, &o.y}), o.gate_up, [=] {
      if (!o.makes_fp8()) return swiglu<float>(matrix(o.gate_up, o.rows), matrix(o.y, o.rows));
      const Matrix<float> gate_up = matrix(o.gate_up, o.rows);
      std::vector<float> exact(static_cast<std::size_t>(gate_up.rows * o.y.columns));
      const Matrix<float> y{exact.data(), gate_up.rows, o.y.columns};
      swiglu<float>(gate_up, y);
      quantise(y, o.factor, o.y.dtype, bytes(o.y), nullptr);
    });
  }

  void enqueue(Stream& stream, const SwiGluBackward& o) {
    const double there = share_of(o.rows.expected_rows, o.dy.rows);
    compute(stream, o, there * bytes_of({&o.gate_up, &o.dy, &o.dgate_up}), o.dgate_up, [=] {
      swiglu_backward<float>(matrix(o.gate_up, o.rows), matrix(o.dy, o.rows),
                             matrix(o.dgate_up, o.rows));
    });
  }

  void enqueue(Stream& stream, const Attention& o) {
    const AttentionTensors& t = o.tensors;
    const Demand demand = {2 * products(t.shape), t.out.dtype, bytes_of({&t.qkv, &t.out}), 0,
                           attention_efficiency(t.shape, kBestForward)};
    compute(stream, o, demand, t.out,
            [=] { attention<float>(t.shape, data(t.qkv), data(t.out), data(t.log_sum_exp)); });
  }

  void enqueue(Stream& stream, const AttentionBackward& o) {
    const AttentionTensors& t = o.tensors;
    const double moved = bytes_of({&t.qkv, &t.out, &o.dout, &o.dqkv});
    const Demand demand = {5 * products(t.shape), o.dqkv.dtype, moved, 0,
                           attention_efficiency(t.shape, kBestBackward)};
    compute(stream, o, demand, o.dqkv, [=] {
      attention_backward<float>(t.shape, data(t.qkv), data(t.out), data(t.log_sum_exp),
                                data(o.dout), data(o.dqkv));
    });
  }

  void enqueue(Stream& stream, const CrossEntropy& o) {
    compute(stream, o, 2 * bytes_of({&o.logits}), o.logits,
            [=] { *data(o.loss) = static_cast<float>(loss_of(o.piece())); });
  }

  void enqueue(Stream& stream, const CrossEntropyPiece& o) {
    compute(stream, o, 2 * bytes_of({&o.logits}), o.logits, [=] { loss_of(o); });
  }

  void enqueue(Stream& stream, const CrossEntropySums& o) {
    compute(stream, o, bytes_of({&o.logits}), o.logits, [=] {
      cross_entropy_sums<float>(matrix(o.logits), o.columns, integers(o.targets), o.part,
                                data(o.sums));
    });
  }

  void enqueue(Stream& stream, const CrossEntropyOfPart& o) {
    const CrossEntropySums& own = o.own;
    compute(stream, o, 2 * bytes_of({&own.logits}), own.logits, [=] {
      cross_entropy_of_part<float>(matrix(own.logits), own.columns, integers(own.targets), own.part,
                                   {data(own.sums), o.ranks()},
                                   1.0 / static_cast<double>(o.batch_rows), data(o.row_losses));
    });
  }

  void enqueue(Stream& stream, const Mean& o) {
    compute(stream, o, bytes_of({&o.values}), o.values, [=] {
      *data(o.mean) = static_cast<float>(mean_of_values<float>(data(o.values), o.values.count()));
    });
  }

  void enqueue(Stream& stream, const MeanSquaredError& o) {
    compute(stream, o, 2 * bytes_of({&o.prediction, &o.target}), o.prediction, [=] {
      const double mean = mean_squared_error<float>(matrix(o.prediction), matrix(o.target),
                                                    1.0 / static_cast<double>(o.prediction.count()),
                                                    matrix(o.prediction), data(o.row_losses));
      *data(o.loss) = static_cast<float>(mean);
    });
  }

  void enqueue(Stream& stream, const Sgd& o) {
    const OptimizerTensors& t = o.tensors;
    const double moved =
        bytes_of({&t.gradients, &t.parameters, &t.parameters, &t.master, &t.master});
    compute(stream, o, moved, t.parameters, [=] {
      const StepState& now = state_in(o.state);
      sgd<float>(now.learning_rate, data(t.gradients), now.gradient_factor, data(t.parameters),
                 t.parameters.count());
    });
  }

  void enqueue(Stream& stream, const SumOfSquares& o) {
    double moved = 0;
    for (const Tensor& each : o.gradients) moved += bytes_of({&each});
    compute(stream, o, moved, o.gradients.front(), [=] {
      double squares = 0;
      for (const Tensor& each : o.gradients) {
        squares += squared_norm<float>(data(each), each.count());
      }
      *data(o.sum) = static_cast<float>(squares);
    });
  }

  void enqueue(Stream& stream, const Clip& o) {
    compute(stream, o, bytes_of({&o.squares, &o.norm}), o.squares, [=] {
      const double length = o.scale * std::sqrt(static_cast<double>(*data(o.squares)));
      *data(o.norm) = static_cast<float>(length);
      state_in(o.state).gradient_factor = o.scale * clip_factor(length, o.limit);
    });
  }

  void enqueue(Stream& stream, const AdamW& o) {
    const OptimizerTensors& t = o.tensors;
    const double read = bytes_of({&t.gradients, &t.first_moments, &t.second_moments, &t.master});
    const double written =
        bytes_of({&t.parameters, &t.first_moments, &t.second_moments, &t.master});
    const double moved = read + written + (t.master.count() == 0 ? bytes_of({&t.parameters}) : 0);
    compute(stream, o, moved, t.parameters, [=] {
      const StepState& now = state_in(o.state);
      const AdamWSettings settings{now.learning_rate, o.options.beta1, o.options.beta2,
                                   o.options.eps, o.options.weight_decay};
      adamw<float>(settings, now.step, data(t.gradients), now.gradient_factor,
                   {data(t.parameters), data(t.first_moments), data(t.second_moments),
                    t.parameters.count()});
    });
  }

  // Of rows a and b of groups, and a matrix w of each group. On a simulated device as one kernel
  // multiplies groups of equal size; by weights: the groups' products of a and b.
  Demand products(const GroupedRows& rows, const Tensor& a, const Tensor& w, const Tensor& b,
                  bool by_weights) const {
    const auto groups = static_cast<double>(rows.groups());
    const double all = static_cast<double>(rows.expected_rows > 0 ? rows.expected_rows : a.rows);
    const double there = all / static_cast<double>(a.rows);
    const double bytes = there * bytes_of({&a, &b}) + bytes_of({&w});
    const auto wide = static_cast<double>(b.columns), deep = static_cast<double>(a.columns);
    const sim::DeviceModel* const model = sim::model_of(device_);
    if (model == nullptr) return {2 * all * wide * deep, a.dtype, bytes};
    sim::GemmSize size;
    size.m = by_weights ? deep : all / groups;
    size.n = wide;
    size.k = by_weights ? all / groups : deep;
    size.dtype = a.dtype;
    size.memory_bytes = bytes / groups;
    return sim::grouped_gemm_demand(
        *model, std::vector<sim::GemmSize>(static_cast<std::size_t>(rows.groups()), size));
  }

  static NormRows<float> norm_rows(const NormTensors& t) {
    return {matrix(t.x), data(t.weight), data(t.bias), data(t.mean), data(t.inverse)};
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

  // The mean of the losses of the piece's rows.
  static double loss_of(const CrossEntropyPiece& o) {
    return cross_entropy<float>(matrix(o.logits), o.vocabulary, integers(o.targets),
                                1.0 / static_cast<double>(o.batch_rows), data(o.row_losses));
  }

  // `result` decides whether the tensors have contents.
  template <typename Operation>
  void compute(Stream& stream, const Operation& operation, double memory_bytes,
               const Tensor& result, std::function<void()> body) {
    compute(stream, operation, Demand{0, result.dtype, memory_bytes}, result, std::move(body));
  }

  template <typename Operation>
  void compute(Stream& stream, const Operation& operation, const Demand& demand,
               const Tensor& result, std::function<void()> body) {
    if (device_.info().is_cpu && result.dtype != DType::fp32) {
      throw Unavailable(fmt::format("{} trains in fp32, not in {} (recipe fp32)",
                                    device_.info().name, name(result.dtype)));
    }
    start(stream, {name_of(operation), demand, {}}, computes(result), std::move(body));
  }

  // Work on the state and on tokens.
  template <typename Operation>
  void compute(Stream& stream, const Operation& operation, double memory_bytes, const Span& result,
               std::function<void()> body) {
    start(stream, {name_of(operation), {0, DType::fp32, memory_bytes}, {}}, has_contents(result),
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

  int threads_;
  bool time_alone_ = false;
};

}  // namespace

std::unique_ptr<Operations> make_cpu_operations(Device& device, const OperationsOptions& options) {
  return std::make_unique<CpuOperations>(device, options);
}

}  // namespace duet
