// Operations and tensors on a host device, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/random.h"
#include "device/machine.h"
#include "training/operations/operations.h"

namespace duet {

class OnHost : public ::testing::Test {
 protected:
  // Contents are not set.
  Tensor tensor(std::int64_t rows, std::int64_t columns, DType dtype = DType::fp32) {
    Tensor made{{}, rows, columns, dtype};
    buffers_.push_back(device_.allocate(made.bytes()));
    made.span = buffers_.back().span();
    return made;
  }
  Tensor of(std::int64_t rows, const std::vector<float>& values) {
    const Tensor made = tensor(rows, static_cast<std::int64_t>(values.size()) / rows);
    device_.write(made.span, values.data());
    return made;
  }
  Tensor normal(std::int64_t rows, std::int64_t columns, std::uint64_t seed, float scale = 1) {
    const Tensor made = tensor(rows, columns);
    write_normal(made, seed, scale);
    return made;
  }
  void write_normal(const Tensor& tensor, std::uint64_t seed, float scale = 1) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      data(tensor)[i] = scale * random_normal(seed, static_cast<std::uint64_t>(i));
    }
  }
  void write_tokens(const Tensor& tensor, std::uint64_t seed, std::uint64_t vocabulary) {
    auto* const tokens = reinterpret_cast<std::int32_t*>(tensor.span.data);
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      const std::uint64_t word = random_word(seed, static_cast<std::uint64_t>(i));
      tokens[i] = static_cast<std::int32_t>(word % vocabulary);
    }
  }

  static float* data(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.span.data); }
  static float element(const Tensor& tensor, std::int64_t index) {
    return load(tensor.dtype,
                tensor.span.data + static_cast<std::size_t>(index) * size_of(tensor.dtype));
  }
  static double at(const Tensor& tensor, std::int64_t row, std::int64_t column) {
    return static_cast<double>(element(tensor, row * tensor.columns + column));
  }
  static std::vector<float> values(const Tensor& tensor) {
    std::vector<float> all;
    for (std::int64_t i = 0; i < tensor.count(); ++i) all.push_back(element(tensor, i));
    return all;
  }

  void run(const AnyOperation& operation) { operations_->run(*stream_, operation); }
  void synchronize() { stream_->synchronize(60); }

  // Of a model with the tokens of its next pass.
  template <typename Model>
  double loss(Model& model) {
    model.forward(*stream_);
    model.evaluate(*stream_);
    synchronize();
    return static_cast<double>(*data(model.loss()));
  }
  template <typename Model>
  void gradients(Model& model, Accumulate accumulate = Accumulate::no) {
    model.forward(*stream_);
    model.backward(*stream_, accumulate);
    synchronize();
  }

  std::unique_ptr<Machine> machine_ = open_machine("host");
  Device& device_ = machine_->device(0);
  std::unique_ptr<Operations> operations_ = make_operations(device_);
  std::unique_ptr<Stream> stream_ = device_.make_stream();
  std::vector<Buffer> buffers_;
};

}  // namespace duet
