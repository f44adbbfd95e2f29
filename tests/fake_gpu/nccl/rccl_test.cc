// The stand-in for RCCL finds calls that RCCL leaves undefined, and has what a version has.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "fake_gpu/hip/runtime.h"
#include "fake_gpu/nccl/nccl_calls.h"
#include "fake_gpu/variable.h"

namespace {

using namespace duet::nccl;
using duet::Variable;

// What each of two ranks learns of an all_gather to which it gives so many bytes.
std::vector<Result> states_after_gathers(const std::vector<std::size_t>& bytes) {
  UniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), kSuccess);
  std::vector<Result> states(2, kInProgress);
  const auto rank = [&](int index) {
    const auto own = static_cast<std::size_t>(index);
    Comm comm = nullptr;
    hipStream_t stream = nullptr;
    void* data = nullptr;
    ASSERT_EQ(hipSetDevice(index), hipSuccess);
    ASSERT_EQ(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, 0), hipSuccess);
    ASSERT_EQ(hipMalloc(&data, 1024), hipSuccess);
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, index), kSuccess);
    ASSERT_EQ(ncclAllGather(data, data, bytes[own], kUint8, comm, stream), kSuccess);
    while (hipStreamQuery(stream) == hipErrorNotReady) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(ncclCommGetAsyncError(comm, &states[own]), kSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), kSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    EXPECT_EQ(hipFree(data), hipSuccess);
  };
  std::thread second(rank, 1);
  rank(0);
  second.join();
  return states;
}

TEST(Rccl, CallsOfDifferentSizesBreakTheCommunicator) {
  EXPECT_EQ(states_after_gathers({64, 64}), (std::vector<Result>{kSuccess, kSuccess}));
  EXPECT_EQ(states_after_gathers({64, 128}), (std::vector<Result>{kInvalidUsage, kInvalidUsage}));
}

// One rank with the CTA policy zero and 1,024 bytes.
class RcclOfAVersion : public ::testing::Test {
 protected:
  void SetUp() override {
    UniqueId id{};
    Config config;
    config.cta_policy = kPolicyZeroCta;
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    ASSERT_EQ(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, 0), hipSuccess);
    ASSERT_EQ(hipMalloc(&data_, 1024), hipSuccess);
    ASSERT_EQ(ncclGetUniqueId(&id), kSuccess);
    ASSERT_EQ(ncclCommInitRankConfig(&comm_, 1, id, 0, &config), kSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(ncclCommDestroy(comm_), kSuccess);
    EXPECT_EQ(hipStreamDestroy(stream_), hipSuccess);
    EXPECT_EQ(hipFree(data_), hipSuccess);
  }

  Window window() {
    Window made = nullptr;
    EXPECT_EQ(ncclCommWindowRegister(comm_, data_, 1024, &made, kWindowSymmetric), kSuccess);
    return made;
  }
  Result all_gather() { return ncclAllGather(data_, data_, 1024, kUint8, comm_, stream_); }

  Result all_to_all() { return ncclAllToAll(data_, data_, 1024, kUint8, comm_, stream_); }

  Variable memory_{"NCCL_CUMEM_ENABLE", "1"};
  Comm comm_ = nullptr;
  hipStream_t stream_ = nullptr;
  void* data_ = nullptr;
};

class RcclWithoutWindows : public RcclOfAVersion {
  Variable version_{"DUET_STANDIN", "rccl=2.27.7"};
};

TEST_F(RcclWithoutWindows, RegistersNone) {
  EXPECT_EQ(window(), nullptr);
  EXPECT_EQ(all_gather(), kSuccess);
  EXPECT_EQ(all_to_all(), kSystemError) << "of one rank, which RCCL does not end";
}

class RcclWithWindows : public RcclOfAVersion {
  Variable version_{"DUET_STANDIN", "rccl=2.30.7"};
};

TEST_F(RcclWithWindows, HasTheCtaPolicyZeroInThemOnly) {
  EXPECT_EQ(all_gather(), kInvalidUsage);
  const Window made = window();
  EXPECT_NE(made, nullptr);
  EXPECT_EQ(all_gather(), kSuccess);
  EXPECT_EQ(all_to_all(), kSuccess);
  EXPECT_EQ(ncclCommWindowDeregister(comm_, made), kSuccess);
  EXPECT_EQ(all_gather(), kInvalidUsage);
}

TEST_F(RcclWithWindows, NeedsVirtualMemoryManagement) {
  const Variable memory("NCCL_CUMEM_ENABLE", "0");
  EXPECT_EQ(window(), nullptr);
}

}  // namespace
