// The stand-in for RCCL finds calls that RCCL leaves undefined.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "collectives/nccl/abi.h"
#include "runtime.h"

extern "C" {
duet::nccl::Result ncclGetUniqueId(duet::nccl::UniqueId*);
duet::nccl::Result ncclCommInitRank(duet::nccl::Comm*, int, duet::nccl::UniqueId, int);
duet::nccl::Result ncclCommDestroy(duet::nccl::Comm);
duet::nccl::Result ncclCommGetAsyncError(duet::nccl::Comm, duet::nccl::Result*);
duet::nccl::Result ncclAllGather(const void*, void*, std::size_t, duet::nccl::Type,
                                 duet::nccl::Comm, duet::nccl::NativeStream);
}

namespace {

using namespace duet::nccl;

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

}  // namespace
