#include "training/models/model.h"

namespace duet {
namespace {

constexpr double kInitialisingSeconds = 120;

}  // namespace

Model::Model(Device& device, Operations& operations, Parameters parameters)
    : operations_(operations), parameters_(std::move(parameters)), device_(device) {}

void Model::plan() { lay_out_all(); }

void Model::allocate() {
  memory_.allocate(device_);
  lay_out_all();
}

void Model::lay_out_all() {
  loss_ = memory_.add(MemoryUse::input, "loss", 1, 1);
  squares_ = memory_.add(MemoryUse::input, "sum of squares", 1, 1);
  gradient_norm_ = memory_.add(MemoryUse::input, "gradient norm", 1, 1);
  state_ = memory_.add(MemoryUse::input, "step state", 1, sizeof(StepState), DType::int8);
  parameters_.lay_out(memory_);
  lay_out();
}

Tensor Model::activation(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return memory_.add(MemoryUse::activations, name, rows, columns, parameters_.recipe().compute);
}

Tensor Model::workspace(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return memory_.add(MemoryUse::workspace, name, rows, columns, parameters_.recipe().compute);
}

void Model::initialise(std::uint64_t seed) {
  const auto stream = device_.make_stream();
  parameters_.initialise(*stream, operations_, memory_, seed);
  begin_workspace(*stream);
  stream->synchronize(kInitialisingSeconds);
}

void Model::begin_step(Stream& stream) { operations_.run(stream, Advance{state_.span}); }

void Model::clip(Stream& stream, double scale, double limit,
                 const std::function<void()>& sum_over_ranks) {
  operations_.run(stream, SumOfSquares{parameters_.counted_gradients(), squares_});
  if (sum_over_ranks) sum_over_ranks();
  operations_.run(stream, Clip{state_.span, squares_, scale, limit, gradient_norm_});
}

void Model::forward(Stream& stream, const BlockBegins& begins) {
  enqueue_forward(
      stream, begins ? begins : [](const ParameterRange&) {});
}

void Model::backward(Stream& stream, Accumulate gradients, const GradientsComplete& complete,
                     const BlockBegins& begins) {
  const auto nothing = [](const ParameterRange&) {};
  enqueue_backward(stream, gradients, complete ? complete : nothing, begins ? begins : nothing);
}

void Model::update(Stream& stream) { update(stream, {0, parameters_.all().size()}); }

void Model::update(Stream& stream, const ParameterRange& range) {
  parameters_.update(stream, operations_, state_.span, range);
}

void Model::backward_beside_update(Stream& stream, ForkedStream& updates, Accumulate gradients) {
  backward(stream, gradients,
           [&](const ParameterRange& range) { update(updates.fork(stream), range); });
  updates.join(stream);
}

}  // namespace duet
