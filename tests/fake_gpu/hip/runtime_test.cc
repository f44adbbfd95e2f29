// The stand-in's own rules: what AMD's runtime refuses, it refuses as well.
#include "fake_gpu/hip/runtime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace fake_gpu {
namespace {

constexpr std::size_t kBytes = 4096;

class Runtime : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    stream_ = stream();
  }
  void TearDown() override {
    wait(stream_);
    EXPECT_EQ(hipStreamDestroy(stream_), hipSuccess);
    static_cast<void>(hipGetLastError());
  }

  static hipStream_t stream() {
    hipStream_t made = nullptr;
    EXPECT_EQ(hipStreamCreateWithPriority(&made, hipStreamNonBlocking, 0), hipSuccess);
    return made;
  }
  static std::byte* allocate(std::size_t bytes = kBytes) {
    void* data = nullptr;
    EXPECT_EQ(hipMalloc(&data, bytes), hipSuccess);
    return static_cast<std::byte*>(data);
  }
  static std::byte* allocate_coherent() {
    void* data = nullptr;
    EXPECT_EQ(hipExtMallocWithFlags(&data, kBytes, hipDeviceMallocUncached), hipSuccess);
    return static_cast<std::byte*>(data);
  }
  static hipEvent_t event(unsigned flags = hipEventDefault) {
    hipEvent_t made = nullptr;
    EXPECT_EQ(hipEventCreateWithFlags(&made, flags), hipSuccess);
    return made;
  }
  static void wait(hipStream_t stream) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (hipStreamQuery(stream) == hipErrorNotReady) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the stream still waits";
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  hipStream_t stream_ = nullptr;
};

TEST_F(Runtime, RefusesStreamsAndEventsOfAnotherDevice) {
  std::byte* const data = allocate();
  const hipEvent_t mine = event();
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  const hipEvent_t other = event();
  EXPECT_EQ(hipMemsetAsync(data, 0, kBytes, stream_), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventRecord(mine, stream_), hipErrorInvalidHandle);
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  EXPECT_EQ(hipEventRecord(other, stream_), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventRecord(mine, stream_), hipSuccess);
  for (const hipEvent_t each : {mine, other}) EXPECT_EQ(hipEventDestroy(each), hipSuccess);
  EXPECT_EQ(hipFree(data), hipSuccess);
}

TEST_F(Runtime, RefusesFreedMemory) {
  std::byte* const freed = allocate();
  std::byte* const live = allocate();
  ASSERT_EQ(hipFree(freed), hipSuccess);
  EXPECT_EQ(hipFree(freed), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyAsync(live, freed, kBytes, hipMemcpyDefault, stream_), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyAsync(freed, live, kBytes, hipMemcpyDefault, stream_), hipErrorInvalidValue);
  EXPECT_EQ(hipMemsetAsync(freed, 0, 1, stream_), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamWriteValue64(stream_, freed, 1, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyAsync(live, live + 1, kBytes, hipMemcpyDefault, stream_), hipErrorInvalidValue)
      << "a byte past the end";
  EXPECT_EQ(hipFree(live), hipSuccess);
}

TEST_F(Runtime, GivesNoAddressTwice) {
  std::byte* const first = allocate();
  ASSERT_EQ(hipFree(first), hipSuccess);
  std::byte* const second = allocate();
  EXPECT_NE(first, second);
  EXPECT_EQ(hipFree(second), hipSuccess);
}

TEST_F(Runtime, RefusesMoreMemoryThanADeviceHas) {
  void* data = nullptr;
  EXPECT_EQ(hipMalloc(&data, kDeviceBytes + 1), hipErrorOutOfMemory);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(hipGetLastError(), hipErrorOutOfMemory);
  EXPECT_EQ(hipGetLastError(), hipSuccess) << "the error was fetched";
}

// Devices 2 and 3: no other test here enables access between them.
TEST_F(Runtime, ReachesPeersOnlyAfterAccessWasEnabled) {
  ASSERT_EQ(hipSetDevice(3), hipSuccess);
  std::byte* const word = allocate();
  ASSERT_EQ(hipSetDevice(2), hipSuccess);
  const hipStream_t own = stream();
  EXPECT_EQ(hipStreamWriteValue64(own, word, 1, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMemsetAsync(word, 0, 8, own), hipErrorInvalidValue);
  EXPECT_EQ(hipDeviceEnablePeerAccess(3, 0), hipSuccess);
  EXPECT_EQ(hipDeviceEnablePeerAccess(3, 0), hipErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(hipStreamWriteValue64(own, word, 1, 0), hipSuccess);
  wait(own);
  EXPECT_EQ(hipStreamDestroy(own), hipSuccess);
  EXPECT_EQ(hipFree(word), hipSuccess);
}

TEST_F(Runtime, WaitsOnlyWhereTheValueWillBeSeen) {
  std::byte* const plain = allocate();
  std::byte* const coherent = allocate_coherent();
  void* pinned = nullptr;
  ASSERT_EQ(hipHostMalloc(&pinned, 8, hipHostMallocPortable), hipSuccess);
  const auto waits = [this](void* word) {
    return hipStreamWaitValue64(stream_, word, 0, hipStreamWaitValueGte, ~0ull);
  };
  EXPECT_EQ(waits(plain), hipErrorInvalidValue);
  EXPECT_EQ(waits(coherent), hipSuccess);
  EXPECT_EQ(waits(pinned), hipSuccess);
  wait(stream_);
  EXPECT_EQ(hipHostFree(pinned), hipSuccess);
  for (std::byte* each : {plain, coherent}) EXPECT_EQ(hipFree(each), hipSuccess);
}

TEST_F(Runtime, EndsAProcessWhoseKernelAccessesWhatItMayNot) {
  std::byte* const data = allocate();
  const auto kernel = [&] {
    static_cast<void>(launch(stream_, [data](int device) {
      require_reach(device, data, kBytes + 1, "a test's kernel");
    }));
    std::this_thread::sleep_for(std::chrono::seconds(20));
  };
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(kernel(), "Memory access fault by GPU 0: a test's kernel");
  EXPECT_EQ(hipFree(data), hipSuccess);
}

TEST_F(Runtime, RunsInOrderAndTellsTime) {
  std::byte* const gate = allocate_coherent();
  std::byte* const data = allocate();
  ASSERT_EQ(hipMemsetAsync(gate, 0, 8, stream_), hipSuccess);
  const hipEvent_t begin = event(), end = event();
  ASSERT_EQ(hipEventRecord(begin, stream_), hipSuccess);
  ASSERT_EQ(hipStreamWaitValue64(stream_, gate, 3, hipStreamWaitValueGte, ~0ull), hipSuccess);
  ASSERT_EQ(hipMemsetAsync(data, 7, kBytes, stream_), hipSuccess);
  ASSERT_EQ(hipEventRecord(end, stream_), hipSuccess);
  const hipStream_t second = stream();
  std::byte result{};
  ASSERT_EQ(hipStreamWaitEvent(second, end, 0), hipSuccess);
  ASSERT_EQ(hipMemcpyAsync(&result, data + kBytes - 1, 1, hipMemcpyDefault, second), hipSuccess);
  EXPECT_EQ(hipEventQuery(end), hipErrorNotReady);
  EXPECT_EQ(hipStreamQuery(second), hipErrorNotReady);
  float milliseconds = 0;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, begin, end), hipErrorNotReady);
  constexpr auto kHeld = std::chrono::milliseconds(20);
  std::this_thread::sleep_for(kHeld);
  const hipStream_t third = stream();
  ASSERT_EQ(hipStreamWriteValue64(third, gate, 3, 0), hipSuccess);
  wait(second);
  EXPECT_EQ(result, std::byte{7});
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, begin, end), hipSuccess);
  EXPECT_GT(milliseconds, 0);
  for (const hipStream_t each : {second, third}) EXPECT_EQ(hipStreamDestroy(each), hipSuccess);
  for (const hipEvent_t each : {begin, end}) EXPECT_EQ(hipEventDestroy(each), hipSuccess);
  for (std::byte* each : {gate, data}) EXPECT_EQ(hipFree(each), hipSuccess);
}

TEST_F(Runtime, TakesNoTimeOfEventsThatOnlyOrder) {
  const hipEvent_t order = event(hipEventDisableTiming), timing = event();
  ASSERT_EQ(hipEventRecord(order, stream_), hipSuccess);
  ASSERT_EQ(hipEventRecord(timing, stream_), hipSuccess);
  wait(stream_);
  float milliseconds = 0;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, order, timing), hipErrorInvalidHandle);
  for (const hipEvent_t each : {order, timing}) EXPECT_EQ(hipEventDestroy(each), hipSuccess);
}

// Each of these makes the capture that it is called in invalid.
TEST_F(Runtime, DoesNotCaptureWhatItCannot) {
  std::byte* const word = allocate();
  const hipEvent_t outside = event();
  ASSERT_EQ(hipEventRecord(outside, stream_), hipSuccess);
  const auto callback = [](hipStream_t, hipError_t, void*) {};
  const std::vector<std::function<hipError_t()>> calls = {
      [&] { return hipStreamWriteValue64(stream_, word, 1, 0); },
      [&] { return hipStreamWaitValue64(stream_, word, 0, hipStreamWaitValueGte, ~0ull); },
      [&] { return hipStreamAddCallback(stream_, callback, nullptr, 0); },
      [&] { return hipStreamQuery(stream_); },
      [&] { return hipStreamWaitEvent(stream_, outside, 0); }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    hipGraph_t graph = nullptr;
    ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeRelaxed), hipSuccess);
    EXPECT_GE(calls[i](), hipErrorStreamCaptureUnsupported) << i;
    EXPECT_EQ(hipStreamEndCapture(stream_, &graph), hipErrorStreamCaptureInvalidated) << i;
    EXPECT_EQ(graph, nullptr);
  }
  EXPECT_EQ(hipEventDestroy(outside), hipSuccess);
  EXPECT_EQ(hipFree(word), hipSuccess);
}

TEST_F(Runtime, CapturesForksThatJoin) {
  std::byte* const data = allocate();
  const hipStream_t fork = stream();
  const hipEvent_t begin = event(hipEventDisableTiming), end = event(hipEventDisableTiming);
  for (const bool joins : {false, true}) {
    hipGraph_t graph = nullptr;
    ASSERT_EQ(hipStreamBeginCapture(stream_, hipStreamCaptureModeRelaxed), hipSuccess);
    ASSERT_EQ(hipEventRecord(begin, stream_), hipSuccess);
    ASSERT_EQ(hipStreamWaitEvent(fork, begin, 0), hipSuccess);
    ASSERT_EQ(hipMemsetAsync(data, 5, kBytes, fork), hipSuccess);
    ASSERT_EQ(hipEventRecord(end, fork), hipSuccess);
    if (joins) {
      ASSERT_EQ(hipStreamWaitEvent(stream_, end, 0), hipSuccess);
    }
    EXPECT_EQ(hipStreamEndCapture(fork, &graph), hipErrorStreamCaptureUnmatched);
    ASSERT_EQ(hipStreamEndCapture(stream_, &graph),
              joins ? hipSuccess : hipErrorStreamCaptureUnjoined);
    if (!joins) continue;
    hipGraphExec_t exec = nullptr;
    ASSERT_EQ(hipGraphInstantiateWithFlags(&exec, graph, 0), hipSuccess);
    ASSERT_EQ(hipGraphDestroy(graph), hipSuccess);
    std::byte result{};
    ASSERT_EQ(hipGraphLaunch(exec, stream_), hipSuccess);
    ASSERT_EQ(hipGraphExecDestroy(exec), hipSuccess) << "a pending launch completes";
    ASSERT_EQ(hipMemcpyAsync(&result, data, 1, hipMemcpyDefault, stream_), hipSuccess);
    wait(stream_);
    EXPECT_EQ(result, std::byte{5});
  }
  EXPECT_EQ(hipStreamDestroy(fork), hipSuccess);
  for (const hipEvent_t each : {begin, end}) EXPECT_EQ(hipEventDestroy(each), hipSuccess);
  EXPECT_EQ(hipFree(data), hipSuccess);
}

TEST_F(Runtime, SharesWholeAllocationsOfDevices) {
  std::byte* const data = allocate();
  hipIpcMemHandle_t handle;
  EXPECT_EQ(hipIpcGetMemHandle(&handle, data + 256), hipErrorInvalidValue);
  ASSERT_EQ(hipIpcGetMemHandle(&handle, data), hipSuccess);
  void* mapped = nullptr;
  EXPECT_EQ(hipIpcOpenMemHandle(&mapped, handle, hipIpcMemLazyEnablePeerAccess),
            hipErrorInvalidContext)
      << "of this process";
  void* pinned = nullptr;
  ASSERT_EQ(hipHostMalloc(&pinned, kBytes, hipHostMallocPortable), hipSuccess);
  EXPECT_EQ(hipIpcGetMemHandle(&handle, pinned), hipErrorInvalidValue);
  EXPECT_EQ(hipHostFree(data), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(pinned), hipErrorInvalidValue);
  EXPECT_EQ(hipHostFree(pinned), hipSuccess);
  EXPECT_EQ(hipFree(data), hipSuccess);
}

}  // namespace
}  // namespace fake_gpu
