// bench_gemm_beside_copies [DEVICE [SECONDS]]
//
// Measures what the copies of an all-gather beside GEMMs cost in time and energy. It varies
// - the pieces: whole parts peer by peer, or pieces that each go to all peers before the next one,
//   so that they can be read from the cache;
// - the contents, because wires draw power when bits change;
// - the rate of the copies, in small pieces or in bursts of whole parts: links that are awake draw
//   power between copies, too;
// - the GEMM: where an engine tunes, also the one that it finds fastest while power is short.
// On CPUs the program only shows that it works.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/error.h"
#include "device/machine.h"
#include "gemm/engine.h"

namespace {

using namespace duet;

constexpr double kDeadline = 60, kSettle = 0.4, kTuning = 6;  // seconds
constexpr int kGemmsInARow = 4;

// Contents of the buffers that are copied.
struct Data {
  const char* name;
  Fill fill;
};
const Data kRandom{"random bytes", {FillKind::pattern, 2}};
const Data kOthers[] = {{"zeros", {FillKind::constant, 0}},
                        {"normal bf16", {FillKind::normal, 2, 0, DType::bf16}}};

struct Trial {
  bool gemms = false;
  std::size_t piece = 0;  // bytes of a push; 0: no copies
  Data data = kRandom;
  double rate = 0;     // bytes a second that a device sends; 0: as fast as it can
  bool tuned = false;  // with the tuned GEMM
};

// One device's matrices and its part of the gather, in a buffer for all parts.
struct Side {
  Device& device;
  Buffer a, b, c, gathered;
  std::unique_ptr<GemmPlan> plan;
  std::unique_ptr<GemmPlan> tuned;  // nullptr: no engine tunes here

  GemmBuffers gemm_buffers() const { return {a.span(), b.span(), c.span()}; }
  std::unique_ptr<Stream> compute;
  std::vector<std::unique_ptr<Stream>> lanes;
};

struct Sizes {
  GemmProblem gemm;
  std::size_t part;
  const char* engine;
  const char* tuning;  // the engine that tunes; "": none
};

Sizes sizes_for(const std::string& kind) {
  GemmProblem gemm;
  if (kind == "cuda") {
    gemm.m = gemm.n = 16384;
    gemm.k = 8192;
    return {gemm, 256u << 20, "cublas", "cublaslt-tuned"};
  }
  gemm.m = gemm.n = gemm.k = 256;
  gemm.dtype = gemm.output = DType::fp32;
  return {gemm, 4u << 20, "duet", ""};
}

Side make_side(Device& device, GemmEngine& engine, const Sizes& sizes, std::size_t devices) {
  const GemmProblem& g = sizes.gemm;
  const auto bytes = [&](std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows * columns) * size_of(g.dtype);
  };
  Side side{device,
            device.allocate(bytes(g.m, g.k)),
            device.allocate(bytes(g.k, g.n)),
            device.allocate(bytes(g.m, g.n)),
            device.allocate(sizes.part * devices),
            nullptr,
            nullptr,
            device.make_stream(),
            {}};
  for (const Buffer* each : {&side.a, &side.b}) {
    side.compute->fill(each->span(), {FillKind::normal, 1, 0, g.dtype});
  }
  side.compute->synchronize(kDeadline);
  side.plan = engine.plan(device, g, side.gemm_buffers(), {});
  for (int lane = 0; lane < 2; ++lane) {
    side.lanes.push_back(device.make_stream({device.info().priorities - 1}));
  }
  return side;
}

void synchronize_lanes(Side& side) {
  for (const auto& each : side.lanes) each->synchronize(kDeadline);
}

// Pushes a device's part once: pieces in order, each to all peers. Returns the bytes sent. With a
// rate, each piece is waited for, and the next one starts when the rate allows it.
std::size_t push(std::vector<Side>& sides, std::size_t mine, std::size_t part, const Trial& trial) {
  Side& own = sides[mine];
  const std::size_t piece = trial.piece;
  std::size_t moved = 0, lane = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t offset = 0; offset < part; offset += piece) {
    if (trial.rate > 0 && moved > 0) {
      synchronize_lanes(own);
      const std::chrono::duration<double> due(static_cast<double>(moved) / trial.rate);
      std::this_thread::sleep_until(begin + due);
    }
    for (std::size_t step = 1; step < sides.size(); ++step) {
      Side& peer = sides[(mine + step) % sides.size()];
      own.lanes[lane++ % own.lanes.size()]->copy({peer.gathered.slice(mine * part + offset, piece),
                                                  own.gathered.slice(mine * part + offset, piece),
                                                  Executor::dma,
                                                  {}});
      moved += piece;
    }
  }
  synchronize_lanes(own);
  if (trial.rate > 0) {
    const std::chrono::duration<double> due(static_cast<double>(moved) / trial.rate);
    std::this_thread::sleep_until(begin + due);
  }
  return moved;
}

double joules(std::vector<Side>& sides) {
  double sum = 0;
  for (Side& each : sides) sum += each.device.joules().value_or(0);
  return sum;
}

void run(std::vector<Side>& sides, const Trial& trial, std::size_t part, double seconds) {
  for (Side& each : sides) {
    each.compute->fill(each.gathered.span(), trial.data.fill);
    each.compute->synchronize(kDeadline);
  }
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> gemms{0}, moved{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (trial.gemms) {
      threads.emplace_back([&, i] {
        while (!stop) {
          for (int k = 0; k < kGemmsInARow; ++k)
            (trial.tuned ? sides[i].tuned : sides[i].plan)
                ->enqueue(*sides[i].compute, sides[i].gemm_buffers());
          sides[i].compute->synchronize(kDeadline);
          gemms += kGemmsInARow;
        }
      });
    }
    if (trial.piece > 0) {
      threads.emplace_back([&, i] {
        while (!stop) moved += push(sides, i, part, trial);
      });
    }
  }
  const auto wait = [](double time) {
    std::this_thread::sleep_for(std::chrono::duration<double>(time));
  };
  wait(kSettle);
  const std::size_t gemms_before = gemms, moved_before = moved;
  const double joules_before = joules(sides);
  wait(seconds);
  const auto count = static_cast<double>(sides.size());
  const double each = static_cast<double>(gemms - gemms_before) / count;
  const double gb = static_cast<double>(moved - moved_before) / 1e9 / count;
  const double watts = (joules(sides) - joules_before) / seconds / count;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const char* kind = trial.tuned ? "tuned" : "yes";
  fmt::print("{:5} {:>10} {:>12} {:10.3f} {:10.1f} {:8.1f}\n", trial.gemms ? kind : "no",
             trial.piece > 0 ? fmt::format("{} KiB", trial.piece >> 10) : "none",
             trial.piece > 0 ? trial.data.name : "", each > 0 ? 1e3 * seconds / each : 0,
             gb / seconds, watts);
}

// Makes the tuned plans. The engine searches on the first device and uses the result on the others.
void tune(std::vector<Side>& sides, const Sizes& sizes, const std::vector<GemmEngine*>& engines) {
  for (GemmEngine* engine : engines) {
    if (engine->name() != sizes.tuning) continue;
    Tuning tuning;
    tuning.seconds = kTuning;
    for (Side& side : sides) {
      side.tuned = engine->plan(side.device, sizes.gemm,
                                {side.a.span(), side.b.span(), side.c.span()}, tuning);
    }
  }
}

int measure(const std::string& name, double seconds) {
  const auto machine = open_machine(name);
  const Sizes sizes = sizes_for(machine->device(0).info().kind);
  std::vector<Side> sides;
  for (GemmEngine* engine : gemm_engines(machine->device(0).info().kind).engines) {
    if (engine->name() != sizes.engine) continue;
    for (int i = 0; i < machine->size(); ++i) {
      sides.push_back(
          make_side(machine->device(i), *engine, sizes, static_cast<std::size_t>(machine->size())));
    }
  }
  if (sides.size() < 2) throw UsageError(name + ": expected two devices with GEMMs or more");
  fmt::print("GEMMs     pieces         data    GEMM ms   GB/s out   W each\n");
  for (const bool gemms : {false, true}) {
    run(sides, {gemms, 0}, sizes.part, seconds);
    for (const Data& data : kOthers) {
      run(sides, {gemms, sizes.part, data}, sizes.part, seconds);
    }
    for (std::size_t piece = sizes.part; piece >= sizes.part / 64; piece /= 4) {
      run(sides, {gemms, piece}, sizes.part, seconds);
    }
    for (const double rate : {200e9, 100e9, 50e9}) {
      run(sides, {gemms, sizes.part / 16, kRandom, rate}, sizes.part, seconds);
    }
    for (const double rate : {50e9, 25e9, 5e9}) {  // a sharded step sends some 25 GB/s on average
      run(sides, {gemms, sizes.part, kRandom, rate}, sizes.part, seconds);
    }
    run(sides, {gemms, sizes.part / 64, kRandom, 1e9}, sizes.part, seconds);
    run(sides, {gemms, 0}, sizes.part, seconds);  // again: how much the order of trials is worth
  }
  tune(sides, sizes, gemm_engines(machine->device(0).info().kind).engines);
  if (sides.front().tuned == nullptr) return 0;
  for (const std::size_t piece : {std::size_t{0}, sizes.part}) {
    run(sides, {true, piece, kRandom, 0, true}, sizes.part, seconds);
    run(sides, {true, piece, kRandom, 0, false}, sizes.part, seconds);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) try {
  return measure(count > 1 ? arguments[1] : "cuda", count > 2 ? std::stod(arguments[2]) : 1.5);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_gemm_beside_copies: {}\n", error.what());
  return 2;
}
