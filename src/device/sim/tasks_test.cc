// Tasks on simulated machines: waves, sharing, priority, interference.
#include <cmath>
#include <utility>

#include "device/sim/sim_fixture.h"

namespace duet::sim {
namespace {

TEST_F(Sim, GemmRatesAreThoseThatWereMeasured) {
  open("mi300x-8");
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::bf16, 0}), 775, 20);  // a fitted figure
  EXPECT_NEAR(tflops({16384, 16384, 16384, DType::bf16, 0}), 820, 30);
  open("h200-4");
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::bf16, 0}), 710, 40);
  EXPECT_NEAR(tflops({4096, 4096, 4096, DType::bf16, 0}), 680, 30);
  open("mi350x-8");  // the rows of the MI350X results
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::bf16, 0}), 1104, 15);
  EXPECT_NEAR(tflops({16384, 8192, 7168, DType::bf16, 0}), 1095, 30);
  EXPECT_NEAR(tflops({16384, 16384, 16384, DType::bf16, 0}), 1059, 90);
  EXPECT_NEAR(tflops({4096, 4096, 4096, DType::bf16, 0}), 969, 70);
  EXPECT_NEAR(tflops({16384, 8192, 1280, DType::bf16, 0}), 901, 20);
  EXPECT_NEAR(tflops({8192, 8192, 8192, DType::fp16, 0}), 1053, 15);
}

TEST_F(Sim, AWaveMoreCostsAWave) {
  open("mi300x-8");
  const auto seconds = [&](double workgroups) {
    return time(0, [&](Stream& stream) {
      stream.run({"t", {workgroups * 1e9, DType::bf16, 0, workgroups, 1}, {}});
    });
  };
  EXPECT_DOUBLE_EQ(seconds(304), seconds(1));
  EXPECT_NEAR((seconds(305) - 5e-6) / (seconds(304) - 5e-6), 2, 1e-9);
}

TEST_F(Sim, MemoryBoundTasksAreLimitedByMemory) {
  open("mi300x-8");
  const double seconds = time(0, [&](Stream& stream) {
    stream.run({"sweep", {1e6, DType::fp32, 4.24e9, 0, 1}, {}});
  });
  EXPECT_NEAR(seconds, 1e-3 + 5e-6, 1e-8);
}

TEST_F(Sim, ConcurrentTasksShareUnitsAndPriorityGoesFirst) {
  open("mi300x-8");
  const Task task{"t", {1e12, DType::bf16, 0, 0, 0.5}, {}};
  const double alone = time(0, [&](Stream& stream) { stream.run(task); }) - 5e-6;
  for (int priority : {0, 1}) {
    auto first = device(0).make_stream({0}), second = device(0).make_stream({priority});
    auto start = device(0).make_event(), end = device(0).make_event();
    second->record(*start);
    first->run(task);
    second->run(task);
    second->record(*end);
    first->synchronize(kDeadline);
    second->synchronize(kDeadline);
    EXPECT_NEAR(end->seconds_since(*start) - 5e-6, priority == 0 ? 2 * alone : alone, 1e-9);
  }
}

// Tasks share memory by bytes, whatever their numbers of workgroups.
TEST_F(Sim, TasksShareMemoryByBytes) {
  open("mi300x-8");
  auto first = device(0).make_stream(), second = device(0).make_stream();
  auto start = device(0).make_event();
  auto one = device(0).make_event(), other = device(0).make_event();
  first->record(*start);
  first->run({"many", {1e6, DType::bf16, 1e10, 3.04e6, 1}, {}});
  first->record(*one);
  second->run({"few", {1e6, DType::bf16, 1e10, 3.04e3, 1}, {}});
  second->record(*other);
  first->synchronize(kDeadline);
  second->synchronize(kDeadline);
  const double seconds = one->seconds_since(*start);
  EXPECT_NEAR(other->seconds_since(*start), seconds, 0.05 * seconds);
}

TEST_F(Sim, AKernelCopyTakesUnitsOfATaskAndAnEngineCopyDoesNot) {
  open("h200-4");
  const Buffer from = device(0).allocate(kGiB), to = device(1).allocate(kGiB);
  const Task task{"gemm", {1e13, DType::bf16, 1e9, 0, 0.5}, {}};
  const auto with = [&](Executor executor) {
    auto beside = device(0).make_stream();
    for (int i = 0; i < 10; ++i) beside->copy({to.span(), from.span(), executor, {}});
    const double seconds = time(0, [&](Stream& stream) { stream.run(task); });
    beside->synchronize(kDeadline);
    return seconds;
  };
  const double alone = time(0, [&](Stream& stream) { stream.run(task); });
  // The clock falls with the cube root of the share of the power that the copies leave.
  const double watts = 391 * 0.45 / 2, drawn = watts / 576;
  EXPECT_NEAR(with(Executor::dma) / alone, 1 / std::cbrt(1 - drawn), 1e-3);
  // 32 units are lost, and the clock of the others rises.
  const double units = 132.0 / 100.0, kernel_drawn = 368 * 0.69 / 2 / 576;
  EXPECT_NEAR(with(Executor::kernel) / alone, units / std::cbrt(units * (1 - kernel_drawn)), 0.01);
}

// [measured] A GEMM on 100 of 132 units takes 1.19 times as long, not 1.32 times.
TEST_F(Sim, FewerUnitsRunAtAHigherClock) {
  open("h200-4");
  const Task task{"gemm", {1e13, DType::bf16, 1e9, 0, 0.5}, {}};
  const auto seconds = [&](int units) {
    auto stream = device(0).make_stream({0, units});
    auto start = device(0).make_event(), end = device(0).make_event();
    stream->record(*start);
    stream->run(task);
    stream->record(*end);
    stream->synchronize(kDeadline);
    return end->seconds_since(*start);
  };
  EXPECT_NEAR(seconds(100) / seconds(132), std::pow(1.32, 2.0 / 3), 1e-3);
  // On so few units the clock is the full one, and time is inversely proportional to units.
  EXPECT_NEAR(seconds(12) / seconds(4), 4.0 / 12, 1e-3);
}

// On MI300X a copy and a GEMM load each other's memory.
TEST_F(Sim, ACopyAndAGemmSlowEachOtherByTheMemoryTheyLoad) {
  open("mi300x-8");
  const Buffer from = device(0).allocate(kGiB), to = device(1).allocate(kGiB);
  const auto seconds = [&](double bytes) {
    const Task task{"gemm", {1e13, DType::bf16, bytes, 0, 0.5}, {}};
    auto beside = device(0).make_stream();
    const auto begin = device(0).make_event(), end = device(0).make_event();
    beside->record(*begin);
    beside->copy({to.span(), from.span(), Executor::dma, {}});
    beside->record(*end);
    const double gemm = time(0, [&](Stream& stream) { stream.run(task); });
    beside->synchronize(kDeadline);
    return std::pair{gemm, end->seconds_since(*begin)};
  };
  const double alone = 1e13 / (0.5 * 1307.4e12) + 5e-6;
  const double still_gemm = seconds(0).first;
  const auto [quiet_gemm, quiet_copy] = seconds(1e6);
  const double loud_copy = seconds(4e10).second;
  EXPECT_NEAR(still_gemm, alone, 1e-7);  // a GEMM without memory traffic is not slowed
  EXPECT_NEAR(quiet_copy, static_cast<double>(kGiB) / 50e9, 1e-4);
  EXPECT_GT(quiet_gemm, 1.005 * alone);
  EXPECT_LT(quiet_gemm, 1.05 * alone);
  EXPECT_GT(loud_copy, 1.1 * quiet_copy);
}

}  // namespace
}  // namespace duet::sim
