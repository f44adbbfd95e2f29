// What ROCr refuses, its stand-in refuses as well.
#include "device/hip/hsa.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/error.h"
#include "fake_gpu/hip/runtime.h"
#include "fake_gpu/variable.h"

namespace duet::hip {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr Hsa::Status kInvalidArgument = 0x1001, kInvalidAgent = 0x1004, kInvalidSignal = 0x1006;

class Rocr : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int device = 0; device < 3; ++device) {
      void* data = nullptr;
      ASSERT_EQ(hipSetDevice(device), hipSuccess);
      ASSERT_EQ(hipMalloc(&data, kBytes), hipSuccess);
      memory_.push_back(data);
      static_cast<void>(hipDeviceEnablePeerAccess((device + 1) % 3, 0));
      static_cast<void>(hipDeviceEnablePeerAccess((device + 2) % 3, 0));
      static_cast<void>(hipGetLastError());
    }
    copy_ = {memory_[1], agent(1), memory_[0], agent(0), kBytes, 0, nullptr, hsa_.make_signal()};
    copy_.engine = hsa_.engines(agent(1), agent(0));
  }
  void TearDown() override {
    hsa_.destroy(copy_.done);
    for (void* data : memory_) EXPECT_EQ(hipFree(data), hipSuccess);
  }

  Hsa::Agent agent(std::size_t device) const { return hsa_.owner_of(memory_[device]); }
  void wait(Hsa::Signal signal) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (hsa_.value(signal) > 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  const Hsa& hsa_ = Hsa::instance();
  std::vector<void*> memory_;
  Hsa::EngineCopy copy_;
};

TEST_F(Rocr, KnowsToWhomMemoryBelongs) {
  EXPECT_NE(agent(0), agent(1));
  EXPECT_EQ(hsa_.owner_of(static_cast<std::byte*>(memory_[0]) + 7), agent(0));
  const int local = 0;
  EXPECT_THROW(hsa_.owner_of(&local), Unavailable);
}

TEST_F(Rocr, RecommendsOneEngineForEachPeer) {
  const std::uint32_t first = hsa_.engines(agent(1), agent(0)),
                      second = hsa_.engines(agent(2), agent(0));
  EXPECT_NE(first, second);
  for (const std::uint32_t engines : {first, second}) {
    EXPECT_NE(engines, 0u);
    EXPECT_EQ(engines & (engines - 1), 0u);
  }
}

TEST_F(Rocr, NamesIdleEnginesWhereItRecommendsNone) {
  const Variable setting("DUET_STANDIN", "no-advice");
  EXPECT_EQ(hsa_.engines(agent(1), agent(0)), 0xFFFCu);
  const Hsa::Signal never = hsa_.make_signal();
  copy_.engine = 0x10;
  copy_.after = &never;
  EXPECT_EQ(hsa_.copy(copy_), Hsa::kSuccess);
  EXPECT_EQ(hsa_.engines(agent(1), agent(0)), 0xFFECu) << "one is busy";
  hsa_.set(never, 0);
  wait(copy_.done);
  hsa_.destroy(never);
}

TEST_F(Rocr, RefusesWrongAgentsEnginesAndSignals) {
  const auto with = [this](auto change) {
    Hsa::EngineCopy copy = copy_;
    change(copy);
    return hsa_.copy(copy);
  };
  using C = Hsa::EngineCopy;
  EXPECT_EQ(with([&](C& copy) { copy.to = agent(2); }), kInvalidAgent);
  EXPECT_EQ(with([&](C& copy) { copy.from = {77}; }), kInvalidAgent);
  EXPECT_EQ(with([](C& copy) { copy.bytes = kBytes + 1; }), kInvalidAgent) << "past the end";
  EXPECT_EQ(with([](C& copy) { copy.engine = 0; }), kInvalidArgument);
  EXPECT_EQ(with([](C& copy) { copy.engine = 0x30; }), kInvalidArgument) << "two engines";
  EXPECT_EQ(with([](C& copy) { copy.engine = 1; }), kInvalidArgument) << "for the host's memory";
  EXPECT_EQ(with([](C& copy) { copy.engine = 0x10000; }), kInvalidArgument);
  EXPECT_EQ(with([](C& copy) { copy.done = {}; }), kInvalidSignal);
  EXPECT_EQ(hsa_.value(copy_.done), 1) << "nothing was copied";
}

// The second copy of one engine waits behind the first, the one of another engine does not.
TEST_F(Rocr, CopiesInOrderByEngine) {
  const Hsa::Signal gate = hsa_.make_signal(), second = hsa_.make_signal(),
                    other = hsa_.make_signal();
  Hsa::EngineCopy held = copy_, behind = copy_, beside = copy_;
  held.after = &gate;
  behind.done = second;
  beside.engine = 0x8000;
  beside.done = other;
  for (const auto& each : {held, behind, beside}) EXPECT_EQ(hsa_.copy(each), Hsa::kSuccess);
  wait(other);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(hsa_.value(second), 1);
  hsa_.set(gate, 0);
  wait(second);
  EXPECT_EQ(hsa_.value(copy_.done), 0);
  for (const Hsa::Signal each : {gate, second, other}) hsa_.destroy(each);
}

TEST_F(Rocr, CopiesBytesBesideThoseThatAnL2CacheHolds) {
  fake_gpu::memory().write_by(0, static_cast<std::byte*>(memory_[0]) + kBytes / 2, 1);
  copy_.bytes = kBytes / 2;
  EXPECT_EQ(hsa_.copy(copy_), Hsa::kSuccess);
  wait(copy_.done);
  fake_gpu::memory().release_to_system(0);
}

TEST_F(Rocr, EndsAProcessThatCopiesWhatAnL2CacheStillHolds) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto copy = [this] {
    fake_gpu::memory().write_by(0, memory_[0], 1);
    static_cast<void>(hsa_.copy(copy_));
    std::this_thread::sleep_for(std::chrono::seconds(20));
  };
  EXPECT_DEATH(copy(), "expected a release to system scope before");
}

}  // namespace
}  // namespace duet::hip
