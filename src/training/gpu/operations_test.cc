// The operations of GPUs beside those of the host, which are tested against differences in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"
#include "timing/sampler.h"
#include "training/gpt.h"
#include "training/mlp.h"
#include "training/training_work.h"
#ifdef DUET_EMULATED_GPU
#include "training/gpu/operations.h"
#endif

namespace duet {
namespace {

constexpr double kDeviceDeadline = 120;

// On a CPU that emulates a GPU (tests/emulated_gpu) there are kernels, but no GEMMs in bf16.
#ifdef DUET_EMULATED_GPU
constexpr bool kEmulated = true;
constexpr const char* kDevices[] = {"host"};
constexpr std::int64_t kManyRows = 67;
std::unique_ptr<Operations> operations_of(Device& device) {
  return cuda::make_gpu_operations(device, 227 << 10);
}
#else
constexpr bool kEmulated = false;
constexpr const char* kDevices[] = {"cuda"};
constexpr std::int64_t kManyRows = 701;
std::unique_ptr<Operations> operations_of(Device& device) { return make_operations(device); }
#endif

// A tensor of the host, in fp32, and the device's with the same values.
struct Pair {
  Tensor host, device;
};

// One side of pairs, where an operation runs.
struct Side {
  Operations& operations;
  Stream& stream;
  bool is_host;

  const Tensor& operator()(const Pair& pair) const { return is_host ? pair.host : pair.device; }
};

using DeviceAndType = std::tuple<const char*, DType>;

class DeviceOperations : public ::testing::TestWithParam<DeviceAndType> {
 protected:
  void SetUp() override {
    try {
      machine_ = open_machine(std::get<0>(GetParam()));
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
    device_ = &machine_->device(0);
    operations_ = operations_of(*device_);
    stream_ = device_->make_stream();
  }

  DType dtype() const { return std::get<1>(GetParam()); }
  bool multiplies() const { return !kEmulated || dtype() == DType::fp32; }
  // Of results by their norm: sums in another order, or rounding to bf16.
  double tolerance() const { return dtype() == DType::fp32 ? 1e-5 : 1e-2; }

  Pair make(std::int64_t rows, std::int64_t columns, DType dtype,
            const std::function<float(std::uint64_t)>& value) {
    const auto count = static_cast<std::size_t>(rows * columns);
    std::vector<float> values(count);
    std::vector<std::byte> stored(count * size_of(dtype));
    for (std::size_t i = 0; i < count; ++i) {
      store(dtype, &stored[i * size_of(dtype)], value(i));
      values[i] = load(dtype, &stored[i * size_of(dtype)]);
    }
    const bool integers = dtype == DType::int32;
    const void* from = integers ? static_cast<const void*>(stored.data()) : values.data();
    const Tensor host = allocate(host_, rows, columns, integers ? dtype : DType::fp32, from);
    return {host, allocate(*device_, rows, columns, dtype, stored.data())};
  }
  Pair normal(std::int64_t rows, std::int64_t columns, std::uint64_t seed, float scale = 1) {
    return make(rows, columns, dtype(),
                [=](std::uint64_t i) { return scale * random_normal(seed, i); });
  }
  Pair tokens(std::int64_t count, std::uint64_t vocabulary) {
    return make(1, count, DType::int32, [=](std::uint64_t i) {
      return static_cast<float>(random_word(3, i) % vocabulary);
    });
  }
  Pair sums(std::int64_t count) {  // what forward passes keep in fp32
    return make(1, count, DType::fp32, [](std::uint64_t) { return 0.0f; });
  }

  void both(const std::function<void(const Side&)>& run) {
    run({*host_operations_, *host_stream_, true});
    run({*operations_, *stream_, false});
    host_stream_->synchronize(kDeviceDeadline);
    stream_->synchronize(kDeviceDeadline);
  }

  static std::vector<float> read(const Tensor& tensor) {
    const std::size_t size = size_of(tensor.dtype);
    std::vector<std::byte> bytes(tensor.bytes());
    tensor.span.owner->read(tensor.span, bytes.data());
    std::vector<float> values(static_cast<std::size_t>(tensor.count()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = load(tensor.dtype, &bytes[i * size]);
    return values;
  }

  void expect_same(const Pair& pair, const char* what) { expect_same(pair, what, tolerance()); }
  static void expect_same(const Pair& pair, const char* what, double tolerance) {
    EXPECT_LE(distance(read(pair.host), read(pair.device)), tolerance) << what;
  }
  // The norm of the difference, as a share of the norm of what is expected.
  static double distance(const std::vector<float>& expected, const std::vector<float>& found) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto value = static_cast<double>(expected[i]);
      difference += std::pow(static_cast<double>(found[i]) - value, 2);
      norm += value * value;
    }
    return difference == 0 ? 0 : std::sqrt(difference / norm);
  }

  std::unique_ptr<Machine> host_machine_ = open_machine("host");
  Device& host_ = host_machine_->device(0);
  std::unique_ptr<Operations> host_operations_ = make_operations(host_);
  std::unique_ptr<Stream> host_stream_ = host_.make_stream();
  std::unique_ptr<Machine> machine_;
  Device* device_ = nullptr;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<Stream> stream_;

 private:
  Tensor allocate(Device& device, std::int64_t rows, std::int64_t columns, DType dtype,
                  const void* from) {
    Tensor tensor{{}, rows, columns, dtype};
    buffers_.push_back(device.allocate(tensor.bytes()));
    tensor.span = buffers_.back().span();
    device.write(tensor.span, from);
    return tensor;
  }

  std::vector<Buffer> buffers_;
};

TEST_P(DeviceOperations, MakeTheSameTokens) {
  const StepState state{4, 77, 0, 1};
  const auto at_host = host_.allocate(sizeof state), at_device = device_->allocate(sizeof state);
  host_.write(at_host.span(), &state);
  device_->write(at_device.span(), &state);
  const Pair made = tokens(1000, 2);
  both([&](const Side& on) {
    const Span& span = on.is_host ? at_host.span() : at_device.span();
    on.operations.advance(on.stream, span);
    on.operations.random_tokens(on.stream, span, 50257, 1, on(made));
  });
  expect_same(made, "tokens", 0);
}

TEST_P(DeviceOperations, Embed) {
  for (const std::int64_t width : {8, 1048}) {
    const std::int64_t rows = 300, length = 50;
    const Pair ids = tokens(rows, 11), table = normal(11, width, 1), places = normal(50, width, 2),
               x = normal(rows, width, 3), dx = normal(rows, width, 4);
    const Pair dtable = normal(11, width, 5), dplaces = normal(length, width, 6);
    both([&](const Side& on) {
      on.operations.embedding(on.stream, on(ids), on(table), on(places), on(x));
      on.operations.embedding_backward(on.stream, on(ids), on(dx), on(dtable), on(dplaces),
                                       width == 8 ? Accumulate::yes : Accumulate::no);
    });
    expect_same(x, "x");
    expect_same(dtable, "token gradient");
    expect_same(dplaces, "position gradient");
  }
}

TEST_P(DeviceOperations, Normalise) {
  for (const std::int64_t width : {8, 264, 520, 776, 1024, 1032, 2056, 5120, 16384}) {
    for (const std::int64_t rows : {std::int64_t{1}, kManyRows}) {
      const Pair x = normal(rows, width, 1), weight = normal(1, width, 2),
                 bias = normal(1, width, 3), dy = normal(rows, width, 4),
                 y = normal(rows, width, 5), dx = normal(rows, width, 6),
                 dweight = normal(1, width, 7), dbias = normal(1, width, 8);
      const Pair mean = sums(rows), inverse = sums(rows);
      const Accumulate accumulate = rows == 1 ? Accumulate::no : Accumulate::yes;
      both([&](const Side& on) {
        const NormTensors norm{on(x),       on(weight),  on(bias), on(mean),
                               on(inverse), on(dweight), on(dbias)};
        on.operations.layer_norm(on.stream, norm, on(y));
        on.operations.layer_norm_backward(on.stream, norm, on(dy), on(dx), accumulate, accumulate);
      });
      const std::string shape = std::to_string(rows) + " x " + std::to_string(width);
      expect_same(y, shape.c_str());
      expect_same(dx, ("dx of " + shape).c_str());
      expect_same(dweight, ("dweight of " + shape).c_str());
      expect_same(dbias, ("dbias of " + shape).c_str());
    }
  }
}

TEST_P(DeviceOperations, Activate) {
  const Pair x = normal(37, 88, 1, 3), y = normal(37, 88, 2), dy = normal(37, 88, 3),
             other = normal(37, 88, 4);
  both([&](const Side& on) {
    on.operations.gelu(on.stream, on(x), on(y));
    on.operations.gelu_backward(on.stream, on(x), on(dy), on(dy));
    on.operations.relu(on.stream, on(x), on(x));
    on.operations.relu_backward(on.stream, on(x), on(other), on(other));
  });
  expect_same(y, "gelu");
  expect_same(dy, "gelu backward");
  expect_same(x, "relu");
  expect_same(other, "relu backward");
}

TEST_P(DeviceOperations, Attend) {
  constexpr AttentionShape kShapes[] = {
      {2, 37, 3, 8}, {1, 130, 2, 64}, {2, 128, 2, 80}, {1, 256, 3, 128}};
  for (AttentionShape s : kShapes) {
    if (kEmulated) s.tokens = std::min<std::int64_t>(s.tokens, 21);
    const std::int64_t rows = s.batch * s.tokens;
    const Pair qkv = normal(rows, 3 * s.width(), 1), out = normal(rows, s.width(), 2),
               dout = normal(rows, s.width(), 3), dqkv = normal(rows, 3 * s.width(), 4);
    const Pair sum =
        make(s.batch * s.heads, s.tokens, DType::fp32, [](std::uint64_t) { return 0.0f; });
    both([&](const Side& on) {
      const AttentionTensors tensors{s, on(qkv), on(out), on(sum)};
      on.operations.attention(on.stream, tensors);
      on.operations.attention_backward(on.stream, tensors, on(dout), on(dqkv));
    });
    const std::string shape = std::to_string(s.tokens) + " x " + std::to_string(s.head_dim);
    expect_same(out, shape.c_str());
    expect_same(sum, ("log sum exp of " + shape).c_str());
    expect_same(dqkv, ("dqkv of " + shape).c_str());
  }
}

// Sizes around those of shared memory. The targets' own elements would hide all others.
TEST_P(DeviceOperations, TakeTheLoss) {
  for (const std::int64_t columns : {128, 12288, 24576, 50304, 131072}) {
    const std::int64_t rows = 7, vocabulary = columns - 31;
    const Pair logits = normal(rows, columns, 1, 2);
    const Pair targets = tokens(rows, static_cast<std::uint64_t>(vocabulary));
    const Pair losses = sums(rows), loss = sums(1);
    both([&](const Side& on) {
      on.operations.cross_entropy(on.stream, on(logits), vocabulary, on(targets), on(losses),
                                  on(loss));
    });
    expect_same(losses, "losses", 1e-5);
    expect_same(loss, "loss", 1e-5);
    std::vector<float> expected = read(logits.host), found = read(logits.device);
    const std::vector<float> target = read(targets.host);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<std::size_t>(row * columns);
      const std::size_t at =
          begin + static_cast<std::size_t>(target[static_cast<std::size_t>(row)]);
      EXPECT_NEAR(found[at], expected[at], 1e-2);
      found[at] = expected[at] = 0;
      for (auto i = begin + static_cast<std::size_t>(vocabulary); i < begin + columns; ++i) {
        EXPECT_EQ(found[i], 0) << "padding";
      }
    }
    EXPECT_LE(distance(expected, found), dtype() == DType::fp32 ? 1e-5 : 5e-3) << columns;
  }
}

TEST_P(DeviceOperations, TakeTheSquaredError) {
  const Pair prediction = normal(19, 4136, 1), target = normal(19, 4136, 2);
  const Pair losses = sums(19), loss = sums(1);
  both([&](const Side& on) {
    on.operations.mean_squared_error(on.stream, on(prediction), on(target), on(losses), on(loss));
  });
  expect_same(losses, "losses", 1e-5);
  expect_same(loss, "loss", 1e-5);
  expect_same(prediction, "gradient");
}

TEST_P(DeviceOperations, Multiply) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  const Pair x = normal(40, 72, 1), w = normal(56, 72, 2), dy = normal(40, 56, 3),
             y = normal(40, 56, 4), sum = normal(40, 56, 5), dx = normal(40, 72, 6),
             dw = normal(56, 72, 7), added = normal(56, 72, 8);
  both([&](const Side& on) {
    on.operations.linear(on.stream, on(x), on(w), on(y));
    on.operations.linear_add(on.stream, on(x), on(w), on(dy), on(sum));
    on.operations.linear_backward_input(on.stream, on(dy), on(w), on(dx));
    on.operations.linear_backward_weight(on.stream, on(dy), on(x), on(dw), Accumulate::no);
    on.operations.linear_backward_weight(on.stream, on(dy), on(x), on(added), Accumulate::no);
    on.operations.linear_backward_weight(on.stream, on(dy), on(x), on(added), Accumulate::yes);
  });
  for (const Pair& each : {y, sum, dx, dw, added}) expect_same(each, "linear");
}

TEST_P(DeviceOperations, Clip) {
  const Pair one = normal(1, 128 * 700, 1), other = normal(1, 256, 2), norm = sums(1);
  const StepState state{3, 0, 0, 0};
  const auto at_host = host_.allocate(sizeof state), at_device = device_->allocate(sizeof state);
  host_.write(at_host.span(), &state);
  device_->write(at_device.span(), &state);
  both([&](const Side& on) {
    on.operations.clip(on.stream, on.is_host ? at_host.span() : at_device.span(),
                       {on(one), on(other)}, 0.5, 10, on(norm));
  });
  expect_same(norm, "norm", 1e-5);
  StepState expected, found;
  host_.read(at_host.span(), &expected);
  device_->read(at_device.span(), &found);
  EXPECT_NEAR(found.gradient_factor, expected.gradient_factor, 1e-5 * expected.gradient_factor);
}

// With fp32 parameters or a master; bf16 alone rounds stochastically (below).
TEST_P(DeviceOperations, Update) {
  const std::int64_t count = 128 * 300;
  const auto fp32 = [&](std::uint64_t seed) {
    return make(1, count, DType::fp32, [=](std::uint64_t i) { return random_normal(seed, i); });
  };
  const Pair weights = fp32(1), gradient = normal(1, count, 2), rounded = normal(1, count, 3);
  const Pair first = fp32(4), second = make(1, count, DType::fp32, [](std::uint64_t i) {
                                return std::abs(random_normal(5, i));
                              });
  const StepState state{3, 0, 1e-2, 0.5};
  const auto at_host = host_.allocate(sizeof state), at_device = device_->allocate(sizeof state);
  host_.write(at_host.span(), &state);
  device_->write(at_device.span(), &state);
  both([&](const Side& on) {
    OptimizerTensors tensors{on(weights), on(gradient), on(first), on(second), {}};
    if (!on.is_host && dtype() == DType::bf16) {
      tensors.parameters = on(rounded);
      tensors.master = on(weights);
    }
    on.operations.adamw(on.stream, {}, on.is_host ? at_host.span() : at_device.span(), tensors);
  });
  expect_same(weights, "weights", 1e-5);
  expect_same(first, "first moments", 1e-5);
  expect_same(second, "second moments", 1e-5);
  if (dtype() == DType::bf16) expect_same({weights.host, rounded.device}, "rounded weights");
}

// Updates of 1e-4 of parameters near 1, whose neighbours in bf16 are 4e-3 and 8e-3 away.
TEST_P(DeviceOperations, RoundSmallUpdatesWithTheRightMean) {
  if (dtype() != DType::bf16) GTEST_SKIP() << "of bf16";
  const std::int64_t count = 1 << 20;
  const auto constant = [&](float value) {
    return make(1, count, DType::bf16, [=](std::uint64_t) { return value; }).device;
  };
  const Tensor weights = constant(1), gradient = constant(1);
  const OptimizerTensors tensors{weights, gradient, constant(0), constant(0), {}};
  const StepState state{1, 9, 1e-4, 1};
  const auto at_device = device_->allocate(sizeof state);
  device_->write(at_device.span(), &state);
  AdamWOptions options;
  options.weight_decay = 0;
  operations_->adamw(*stream_, options, at_device.span(), tensors);
  stream_->synchronize(kDeviceDeadline);
  double sum = 0;
  for (const float value : read(weights)) sum += 1 - static_cast<double>(value);
  EXPECT_NEAR(sum / static_cast<double>(count), 1e-4, 3e-6);
}

TEST_P(DeviceOperations, KeepWhatIsNotFinite) {
  const auto constant = [&](float value) {
    return make(1, 128, dtype(), [=](std::uint64_t) { return value; }).device;
  };
  const Tensor gradient = make(1, 128, dtype(), [](std::uint64_t i) {
                            return i == 5 ? NAN : i == 9 ? INFINITY : 1.0f;
                          }).device;
  const OptimizerTensors tensors{constant(1), gradient, constant(0), constant(0), {}};
  const StepState state{1, 9, 1e-4, 1};
  const auto at_device = device_->allocate(sizeof state);
  device_->write(at_device.span(), &state);
  operations_->adamw(*stream_, {}, at_device.span(), tensors);
  operations_->sgd(*stream_, at_device.span(), tensors);
  stream_->synchronize(kDeviceDeadline);
  const std::vector<float> weights = read(tensors.parameters);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(std::isfinite(weights[i]), i != 5 && i != 9) << i;
  }
  EXPECT_TRUE(std::isnan(read(tensors.first_moments)[5]));
  EXPECT_TRUE(std::isinf(read(tensors.first_moments)[9]));
}

GptConfig small_gpt() {
  GptConfig config;
  config.name = "small";
  config.layers = 2;
  config.heads = 2;
  config.width = 64;
  config.ffn_width = 136;
  config.vocabulary = 203;
  config.batch = 3;
  config.sequence = kEmulated ? 12 : 64;
  return config;
}

Recipe recipe_of(DType dtype) { return find_recipe(dtype == DType::fp32 ? "fp32" : "amp"); }

void run_step(Gpt& model, Device& device, Stream& stream) {
  model.initialise(1);
  const StepState state{0, 5, 1e-3, 1};
  device.write(model.state(), &state);
  model.begin_step(stream);
  model.make_random_input(stream, 0);
  model.forward(stream);
  model.backward(stream, Accumulate::no);
  stream.synchronize(kDeviceDeadline);
}

TEST_P(DeviceOperations, TrainAGptLikeTheHost) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  Gpt expected(small_gpt(), find_recipe("fp32"), {}, host_, *host_operations_);
  Gpt found(small_gpt(), recipe_of(dtype()), {}, *device_, *operations_);
  expected.allocate();
  found.allocate();
  run_step(expected, host_, *host_stream_);
  run_step(found, *device_, *stream_);
  const double of_gradients = dtype() == DType::fp32 ? 1e-4 : 3e-2;
  expect_same({expected.loss(), found.loss()}, "loss", dtype() == DType::fp32 ? 1e-6 : 1e-3);
  for (std::size_t i = 0; i < found.parameters().all().size(); ++i) {
    expect_same({expected.parameters().all()[i].tensors.gradients,
                 found.parameters().all()[i].tensors.gradients},
                found.parameters().all()[i].about.name.c_str(), of_gradients);
  }
}

TEST_P(DeviceOperations, RepeatAStepToTheBit) {
  if (!multiplies()) GTEST_SKIP() << "no GEMMs in bf16";
  const Recipe recipe = find_recipe(dtype() == DType::fp32 ? "fp32" : "bf16");
  GptConfig config = small_gpt();
  if (!kEmulated) config.sequence = 512;  // several tiles of attention, and rows of a norm's block
  Gpt model(config, recipe, {}, *device_, *operations_);
  model.allocate();
  std::vector<std::vector<float>> before;
  for (int run = 0; run < (kEmulated ? 2 : 5); ++run) {
    run_step(model, *device_, *stream_);
    model.update(*stream_);
    stream_->synchronize(kDeviceDeadline);
    std::vector<std::vector<float>> now;
    for (const TrainedParameter& each : model.parameters().all())
      now.push_back(read(each.tensors.parameters));
    if (run > 0) {
      EXPECT_EQ(now, before);
    }
    before = std::move(now);
  }
}

// Tuned, captured, replayed and verified, with gradients in another type as well.
TEST_P(DeviceOperations, MeasureVerifiedSteps) {
  if (kEmulated) GTEST_SKIP() << "the work makes the host's operations";
  GptConfig recomputing = small_gpt();
  recomputing.recompute = Recompute::block;
  const bool fp32 = dtype() == DType::fp32;
  for (const char* recipe : {fp32 ? "fp32" : "amp", fp32 ? "fp32" : "bf16"}) {
    for (const std::int64_t accumulate : {1, 2}) {
      for (const ModelDescription& model :
           {describe(small_gpt()), describe(recomputing), describe(MlpConfig{{64, 128, 72}, 32})}) {
        Team team(*machine_, {0});
        Optimizer optimizer;
        if (model.name == "mlp") optimizer.kind = OptimizerKind::sgd;
        TrainingWork work(model, find_recipe(recipe), optimizer, accumulate);
        Mode mode;
        mode.min_iterations = mode.max_iterations = 3;
        EXPECT_TRUE(Sampler(team).measure(work, mode).verified) << model.name << " " << recipe;
      }
    }
  }
}

std::string label(const ::testing::TestParamInfo<DeviceAndType>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::string(name(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Gpus, DeviceOperations,
                         ::testing::Combine(::testing::ValuesIn(kDevices),
                                            ::testing::Values(DType::fp32, DType::bf16)),
                         label);

}  // namespace
}  // namespace duet
