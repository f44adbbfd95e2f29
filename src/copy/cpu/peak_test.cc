// The CPU's copy peak: loops copy exactly their bytes, and which options have a peak case.
#include "copy/cpu/peak.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "copy/cases.h"
#include "core/error.h"
#include "device/machine.h"
#include "timing/sampler.h"

namespace duet {
namespace {

TEST(CopyLoops, CopyEveryByteAndNoMore) {
  constexpr std::size_t kBytes = 5 * CopyLoop::kStep, kGuard = 64;
  alignas(64) std::byte from[kBytes + kGuard], to[kBytes + kGuard];
  for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<std::byte>(i * 31 % 251);
  const auto loops = copy_loops();
  ASSERT_FALSE(loops.empty());
  for (const CopyLoop& loop : loops) {
    std::fill(std::begin(to), std::end(to), std::byte{0xDB});
    loop.run(to, from, kBytes);
    EXPECT_TRUE(std::equal(from, from + kBytes, to)) << loop.name;
    EXPECT_TRUE(std::all_of(to + kBytes, std::end(to), [](std::byte b) {
      return b == std::byte{0xDB};
    })) << loop.name;
  }
}

// With three threads, the parts are not equal.
TEST(CopyPeak, IsVerifiedAndCountsBytesReadPlusWritten) {
  auto machine = open_machine("host");
  Team team(*machine, {0});
  CopyPeakWork work(1 << 20, 3);
  EXPECT_EQ(work.cost().memory_bytes, 2.0 * (1 << 20));
  EXPECT_EQ(work.cost().wire_bytes, 0);
  Mode mode;
  mode.seconds = 0.01;
  const Sampling sampling = Sampler(team, {}).measure(work, mode);
  EXPECT_TRUE(sampling.verified);
  EXPECT_FALSE(work.loop().name.empty());
}

// Nothing was copied here, so verify() must find a difference.
TEST(CopyPeak, AnUntouchedDestinationIsAMismatch) {
  auto machine = open_machine("host");
  Team team(*machine, {0});
  team.each([](Rank& rank) {
    CopyPeakWork work(1 << 20, 1);
    work.prepare(rank, {});
    work.renew(rank);
    EXPECT_THROW(work.verify(rank), Mismatch);
    work.release(rank);
  });
}

std::uint64_t large() {
  return static_cast<std::uint64_t>(copy_peak_bytes(open_machine("host")->device(0).info()));
}

std::vector<CaseId> peaks(const std::string& device, const CopyOptions& options) {
  auto machine = open_machine(device);
  std::vector<CaseId> found;
  for (const Case& one : copy_benchmark(*machine, options, {}).cases) {
    if (one.id.benchmark == "copy_peak") found.push_back(one.id);
  }
  return found;
}

// Large is a multiple of the CPU's caches, of which some have more than a quarter of what is copied
// without being asked.
TEST(CopyPeakCases, AreForLargeCopiesOnTheCpuOneAnExecutor) {
  CopyOptions options;
  options.sizes = {large()};
  const auto found = peaks("host", options);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].engine, "nt-copy");
  EXPECT_EQ(found[0].axes.text("executor"), "dma");
  EXPECT_EQ(found[1].axes.text("executor"), "kernel");
  EXPECT_EQ(peaks("host:2", options).size(), 2u);
  EXPECT_TRUE(peaks("sim:mi300x-8", options).empty());
  options.sizes = {1 << 20};
  EXPECT_TRUE(peaks("host", options).empty());
  options.sizes = {large()};
  for (CopyKind kind : {CopyKind::host_to_device, CopyKind::peer}) {  // one device has no peer
    options.kinds = {kind};
    EXPECT_TRUE(peaks("host", options).empty());
  }
  EXPECT_TRUE(peaks("host:2", options).empty());  // the peak is of copies within a device
}

TEST(CopyPeakCases, LargeCachesHaveALargerCopy) {
  DeviceInfo cpu;
  cpu.is_cpu = true;
  cpu.memory_bytes = 16ull << 30;
  cpu.cache_bytes = 32 << 20;
  EXPECT_EQ(size_beyond_cache(cpu, {1 << 20, 256 << 20}), std::nullopt);
  EXPECT_EQ(size_beyond_cache(cpu, {1 << 20}), 256u << 20);
  cpu.cache_bytes = 384 << 20;
  EXPECT_EQ(size_beyond_cache(cpu, {1 << 20, 256 << 20}), 4 * cpu.cache_bytes);
  EXPECT_EQ(size_beyond_cache(cpu, {4 * cpu.cache_bytes}), std::nullopt);
  cpu.memory_bytes = 16 * cpu.cache_bytes - 1;
  EXPECT_EQ(size_beyond_cache(cpu, {1 << 20}), std::nullopt);
  cpu.memory_bytes = 16ull << 30;
  cpu.is_cpu = false;
  EXPECT_EQ(size_beyond_cache(cpu, {1 << 20}), std::nullopt);
}

// Of all local copies, and of no others.
TEST(CopyPeakCases, WhatIsBeyondTheCacheIsMeasuredWithThePeak) {
  CopyOptions options;
  options.sizes = {1 << 20};
  options.kinds = {CopyKind::local, CopyKind::peer};
  options.matrix_bytes = 0;
  options.beyond_cache = true;
  auto machine = open_machine("host:2");
  int larger = 0;
  for (const Case& one : copy_benchmark(*machine, options, {}).cases) {
    if (one.id.benchmark != "copy" || one.id.axes.number("bytes") != large()) continue;
    EXPECT_EQ(one.id.axes.text("kind"), "local");
    ++larger;
  }
  const bool fits = size_beyond_cache(machine->device(0).info(), options.sizes).has_value();
  EXPECT_EQ(larger, fits ? 2 : 0);  // an executor each
  EXPECT_EQ(peaks("host:2", options).size(), fits ? 2u : 0u);
}

}  // namespace
}  // namespace duet
