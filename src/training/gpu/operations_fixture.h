// The operations of a device beside those of the host, which are tested against differences in
// double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"
#include "timing/sampler.h"
#include "training/models/gpt.h"
#include "training/models/mlp.h"
#include "training/models/qwen3.h"
#include "training/training_work.h"
#ifdef DUET_EMULATED_GPU
#include "training/gpu/operations.h"
#endif

namespace duet {

inline constexpr double kDeviceDeadline = 120;

// On a CPU that emulates a GPU (tests/emulated_gpu) there are kernels, but no GEMMs in bf16.
#ifdef DUET_EMULATED_GPU
inline constexpr bool kEmulated = true;
inline constexpr const char* kDevices[] = {"host"};
inline constexpr std::int64_t kManyRows = 67;
inline std::unique_ptr<Operations> operations_of(Device& device) {
  return cuda::make_gpu_operations(device, {}, 227 << 10);
}
#else
inline constexpr bool kEmulated = false;
inline constexpr const char* kDevices[] = {"cuda"};
inline constexpr std::int64_t kManyRows = 701;
inline std::unique_ptr<Operations> operations_of(Device& device) { return make_operations(device); }
#endif

// A tensor of the host, in fp32, and the device's with the same values; both alike in int32 and
// fp8.
struct Pair {
  Tensor host, device;
};

// One side of pairs, where an operation runs.
struct Side {
  Operations& operations;
  Stream& stream;
  bool is_host;

  void run(const AnyOperation& operation) const { operations.run(stream, operation); }
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
    const bool alike = dtype == DType::int32 || size_of(dtype) == 1;
    const void* from = alike ? static_cast<const void*>(stored.data()) : values.data();
    const Tensor host = allocate(host_, rows, columns, alike ? dtype : DType::fp32, from);
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

  // Forms of a tensor in fp8 that an operation writes, and its scale.
  struct QuantisedPair {
    Pair values, transposed, scale;
    Quantised operator()(const Side& on) const { return {on(values), on(transposed), on(scale)}; }
  };
  QuantisedPair quantised(std::int64_t rows, std::int64_t columns, DType fp8, bool values = true,
                          bool transposed = true) {
    const auto eight = [&](bool wanted, std::int64_t m, std::int64_t n) {
      return wanted ? make(m, n, fp8, [](std::uint64_t) { return 7.0f; }) : Pair();
    };
    return {eight(values, rows, columns), eight(transposed, columns, rows), sums(1)};
  }
  // Quantises x on both sides, and returns what both made.
  QuantisedPair quantise(const Pair& x, DType fp8 = DType::fp8_e4m3, bool values = true,
                         bool transposed = true) {
    const QuantisedPair made = quantised(x.host.rows, x.host.columns, fp8, values, transposed);
    const Pair magnitude = sums(1);
    both([&](const Side& on) {
      on.run(Magnitude{on(x), on(magnitude)});
      on.run(Quantise{on(x), on(magnitude), made(on)});
    });
    return made;
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

  static std::vector<std::byte> bytes_of(const Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes());
    if (!bytes.empty()) tensor.span.owner->read(tensor.span, bytes.data());
    return bytes;
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

inline std::string label(const ::testing::TestParamInfo<DeviceAndType>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::string(name(std::get<1>(info.param)));
}

}  // namespace duet
