// bench_copy_beside_gemm [DEVICE [MIB]]
//
// Measures a copy within a device beside a GEMM. The copy starts before the GEMM or while the GEMM
// runs. It is made by the driver, by few or many blocks, or by one warp per SM.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/machine.h"
#include "gemm/engine.h"
#include "timing/statistics.h"

namespace {

using namespace duet;

constexpr double kDeadline = 60, kWarm = 0.3, kMeasured = 0.7;  // seconds
constexpr auto kLate = std::chrono::milliseconds(1);  // from the GEMM to a copy that starts second

struct How {
  const char* name;
  bool any = true;
  Executor executor = Executor::kernel;
  KernelShape shape;
};

const std::vector<How> kAll{{"none", false, Executor::dma, {}},
                            {"driver", true, Executor::dma, {}},
                            {"8 x 512", true, Executor::kernel, {8, 512, false}},
                            {"264 x 512", true, Executor::kernel, {264, 512, false}},
                            {"thin", true, Executor::kernel, {0, 0, true}}};

class Beside {
 public:
  Beside(Device& device, GemmEngine& engine, const GemmProblem& gemm, std::size_t bytes)
      : device_(device),
        a_(matrix(gemm.m * gemm.k, gemm, 1)),
        b_(matrix(gemm.k * gemm.n, gemm, 2)),
        c_(matrix(gemm.m * gemm.n, gemm, 3)),
        source_(device.allocate(bytes)),
        target_(device.allocate(bytes)) {
    compute_->fill(source_.span(), {FillKind::pattern, 4});
    compute_->synchronize(kDeadline);
    plan_ = engine.plan(device, gemm, {a_.span(), b_.span(), c_.span()}, {});
  }

  // Medians, in milliseconds from the start of the first work: until both have ended, and until the
  // copy has ended. `late`: the GEMM starts first.
  std::pair<double, double> measure(const How& how, bool late) {
    std::vector<double> together, copied;
    const auto begin = std::chrono::steady_clock::now();
    for (double now = 0; now < kWarm + kMeasured;) {
      late ? gemm_first(how) : copy_first(how);
      now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (now < kWarm) continue;
      const double copy = how.any ? 1e3 * copied_->seconds_since(*begin_) : 0;
      copied.push_back(copy);
      together.push_back(std::max(copy, 1e3 * computed_->seconds_since(*begin_)));
    }
    return {summarise(together).median, summarise(copied).median};
  }

 private:
  Buffer matrix(std::int64_t elements, const GemmProblem& gemm, std::uint64_t seed) {
    Buffer buffer = device_.allocate(static_cast<std::size_t>(elements) * size_of(gemm.dtype));
    compute_->fill(buffer.span(), {FillKind::normal, seed, 0, gemm.dtype});
    return buffer;
  }

  void enqueue_copy(const How& how) {
    if (!how.any) return;
    copies_->copy({target_.span(), source_.span(), how.executor, how.shape});
    copies_->record(*copied_);
  }

  void wait() {
    compute_->synchronize(kDeadline);
    copies_->synchronize(kDeadline);
  }

  void copy_first(const How& how) {
    copies_->record(*begin_);
    enqueue_copy(how);
    plan_->enqueue(*compute_, {a_.span(), b_.span(), c_.span()});
    compute_->record(*computed_);
    wait();
  }

  void gemm_first(const How& how) {
    compute_->record(*begin_);
    plan_->enqueue(*compute_, {a_.span(), b_.span(), c_.span()});
    compute_->record(*computed_);
    std::this_thread::sleep_for(kLate);
    enqueue_copy(how);
    wait();
  }

  Device& device_;
  std::unique_ptr<Stream> compute_ = device_.make_stream();
  std::unique_ptr<Stream> copies_ = device_.make_stream({device_.info().priorities - 1});
  std::unique_ptr<Event> begin_ = device_.make_event(), copied_ = device_.make_event(),
                         computed_ = device_.make_event();
  Buffer a_, b_, c_, source_, target_;
  std::unique_ptr<GemmPlan> plan_;
};

int run(const std::string& name, std::size_t mib) {
  const auto machine = open_machine(name);
  Device& device = machine->device(0);
  const bool gpu = device.info().kind == "cuda";
  GemmProblem gemm{18432, 8192, 16384, DType::bf16};
  if (!gpu) gemm = {256, 256, 256, DType::fp32};
  gemm.output = gemm.dtype;
  for (GemmEngine* engine : gemm_engines(device.info().kind).engines) {
    if (engine->name() != (gpu ? "cublas" : "duet")) continue;
    Beside beside(device, *engine, gemm, mib << 20);
    fmt::print("{}x{}x{} beside a copy of {} MiB, ms\n", gemm.m, gemm.n, gemm.k, mib);
    fmt::print("{:12} {:>10} {:>10} {:>12} {:>10}\n", "copy", "both", "copied", "GEMM first",
               "copied");
    for (const How& how : kAll) {
      const auto first = beside.measure(how, false), late = beside.measure(how, true);
      fmt::print("{:12} {:10.3f} {:10.3f} {:12.3f} {:10.3f}\n", how.name, first.first, first.second,
                 late.first, late.second);
    }
    return 0;
  }
  throw UsageError(name + ": expected a device with GEMMs");
}

}  // namespace

int main(int count, char** arguments) try {
  return run(count > 1 ? arguments[1] : "cuda:0", count > 2 ? std::stoul(arguments[2]) : 640);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_copy_beside_gemm: {}\n", error.what());
  return 2;
}
