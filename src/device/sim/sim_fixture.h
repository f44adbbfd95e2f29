#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/machine.h"
#include "device/sim/sim.h"

namespace duet::sim {

inline constexpr double kDeadline = 100;

// The fixture of the tests of simulated machines.
class Sim : public ::testing::Test {
 protected:
  void open(const std::string& platform) { machine_ = open_machine("sim:" + platform); }
  Device& device(int index) { return machine_->device(index); }

  // Virtual seconds that `work` takes on a new stream of the device.
  double time(int index, const std::function<void(Stream&)>& work) {
    auto stream = device(index).make_stream();
    auto start = device(index).make_event(), end = device(index).make_event();
    stream->record(*start);
    work(*stream);
    stream->record(*end);
    stream->synchronize(kDeadline);
    return end->seconds_since(*start);
  }

  // GB/s of one copy from device `from` to device `to`, issued by `by`.
  double rate(std::uint64_t bytes, int from, int to, int by, Executor executor,
              KernelShape shape = {}) {
    const Buffer source = device(from).allocate(bytes), target = device(to).allocate(bytes);
    const double seconds = time(by, [&](Stream& stream) {
      stream.copy({target.span(), source.span(), executor, shape});
    });
    return static_cast<double>(bytes) / seconds / 1e9;
  }

  // TFLOP/s of one GEMM on device 0; sets size.memory_bytes for elements of 2 bytes.
  double tflops(GemmSize size) {
    const DeviceModel& model = *model_of(device(0));
    size.memory_bytes = 2 * (size.m * size.k + size.k * size.n + size.m * size.n);
    const double seconds = time(0, [&](Stream& stream) {
      stream.run({"gemm", gemm_demand(model, size), {}});
    });
    return 2 * size.m * size.n * size.k / seconds / 1e12;
  }

  std::unique_ptr<Machine> machine_;
};

inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

}  // namespace duet::sim
