// The drop-in's two libraries in one process, as `duet collective --tune` measures them: each goes
// by its own environment.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "collectives/nccl/library.h"
#include "core/message_fixture.h"
#include "fake_gpu/cuda/host_gpu.h"
#include "fake_gpu/nccl/nccl_calls.h"

namespace duet::nccl {
namespace {

constexpr int kRanks = 2;

// One all_gather on a communicator of its own, by a thread a rank. Returns whether all data are
// right.
bool gathers(const Library& library, std::size_t bytes) {
  static int communicators = 0;
  UniqueId id{};
  std::snprintf(id.bytes, sizeof id.bytes, "/fake-nccl-%d-%d", getpid(), ++communicators);
  std::vector<char> is_right(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      host_gpu_set_device(rank);
      void* const stream = host_gpu_create_stream();
      Comm comm = nullptr;
      auto* const sent = static_cast<char*>(host_gpu_allocate(bytes));
      auto* const received = static_cast<char*>(host_gpu_allocate(kRanks * bytes));
      std::memset(sent, rank + 1, bytes);
      bool right = library.comm_init(&comm, kRanks, id, rank) == kSuccess &&
                   library.all_gather(sent, received, bytes, kUint8, comm, stream) == kSuccess;
      host_gpu_synchronise(stream);
      for (std::size_t i = 0; i < kRanks * bytes; ++i) {
        right = right && received[i] == static_cast<char>(i / bytes + 1);
      }
      right = library.comm_destroy(comm) == kSuccess && right;
      host_gpu_destroy_stream(stream);
      for (char* each : {sent, received}) host_gpu_free(each);
      is_right[static_cast<std::size_t>(rank)] = right ? 1 : 0;
    });
  }
  for (std::thread& each : threads) each.join();
  return is_right == std::vector<char>(kRanks, 1);
}

TEST(BothDropIns, GoByEnvironmentsOfTheirOwn) {
  setenv("DUET_NCCL_LOG", "info", 1);
  Library real;
  real.get_version = ncclGetVersion;
  real.get_unique_id = ncclGetUniqueId;
  real.error_string = [](Result) { return "an error"; };
  const Library copies = with_drop_in(real, DUET_HOST_DROP_INS "/libduet-nccl.so");
  const Library chunks =
      with_drop_in(real, DUET_HOST_DROP_INS "/replacement/libnccl.so.2", DropInMeans::kernel);
  EXPECT_EQ(std::getenv("DUET_NCCL_KERNEL"), nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(gathers(copies, 1 << 20));
    const std::string by_copies = testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
    EXPECT_TRUE(gathers(chunks, 1 << 20));
    const std::string by_chunks = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(contains(by_copies, "as packets; all_gather from 1 B"));
    EXPECT_FALSE(contains(by_copies, "kernel"));
    EXPECT_TRUE(contains(by_chunks, "calls up to 1099511627776 B by a kernel; the rest"));
  }
  EXPECT_EQ(fake_nccl_calls(), 0);
}

}  // namespace
}  // namespace duet::nccl
