// Enqueueing a collective costs the CPU little: Duet allocates nothing, and a rank's thread waits
// neither for its streams nor for a lock.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>

#include "collectives/own_engines.h"
#include "collectives/session/calls_fixture.h"
#include "communicator/communicator.h"
#include "core/error.h"
#include "count_allocations.h"
#include "runtime/overlap.h"

namespace duet {
namespace {

constexpr int kCalls = 5;

// The number of voluntary context switches of this thread.
long waits() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

struct Cost {
  long allocations = 0, waits = 0;
};

Cost cost_of_calls(Rank& rank, CollectiveSession& session, const Collective& c) {
  const Buffer send = rank.device.allocate(send_bytes(c, rank.index, rank.size));
  const Buffer recv = rank.device.allocate(recv_bytes(c, rank.index, rank.size));
  const auto stream = rank.device.make_stream();
  const auto plan = session.plan(rank, c, {send.span(), recv.span()});
  const auto call = [&] {
    for (int i = 0; i < kCalls; ++i) plan->enqueue(*stream);
  };
  call();
  stream->synchronize(60);
  rank.team.barrier("all ranks to have warmed up");
  const long waited = waits(), allocated = allocations();
  call();
  const Cost cost{allocations() - allocated, waits() - waited};
  stream->synchronize(60);
  rank.team.barrier("all ranks to be done");
  return cost;
}

class Enqueue : public ::testing::TestWithParam<CollectiveKind> {
 protected:
  void SetUp() override try { machine_ = open_machine("cuda"); } catch (const Unavailable& reason) {
    GTEST_SKIP() << "--device cuda: " << reason.what();
  }

  std::unique_ptr<Machine> machine_;
};

TEST_P(Enqueue, NeitherAllocatesNorWaits) {
  Team team(*machine_);
  for (const auto make : {make_dma_collectives, make_kernel_collectives}) {
    const auto engine = make();
    const auto session = engine->open(team);
    for (const std::uint64_t count : {16 << 10, 8 << 20}) {
      std::vector<Cost> costs(static_cast<std::size_t>(team.size()));
      team.each([&](Rank& rank) {
        costs[static_cast<std::size_t>(rank.index)] =
            cost_of_calls(rank, *session, collective_of(GetParam(), count));
      });
      long waited = 0;
      for (const Cost& cost : costs) {
        EXPECT_EQ(cost.allocations, 0);
        waited += cost.waits;
      }
      std::printf("%s by %s, %llu elements: waited %ld times in %d calls of %d ranks\n",
                  std::string(name(GetParam())).c_str(), engine->name().c_str(),
                  static_cast<unsigned long long>(count), waited, kCalls, team.size());
      EXPECT_LE(waited, kCalls);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Enqueue,
                         ::testing::Values(CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                           CollectiveKind::reduce_scatter,
                                           CollectiveKind::all_reduce, CollectiveKind::broadcast),
                         [](const auto& kind) { return std::string(name(kind.param)); });

// Beside compute that a program's function enqueues.
TEST(EnqueueOverlap, AllocatesNothing) try {
  Communicator communicator({"cuda", "dma"});
  communicator.each([](LocalRank& rank) {
    const Collective c = collective_of(CollectiveKind::all_gather, 8 << 20);
    const auto send = rank.allocate(send_bytes(c, rank.index(), rank.size()));
    const auto recv = rank.allocate(recv_bytes(c, rank.index(), rank.size()));
    const Buffer from = rank.device().allocate(1 << 20), to = rank.device().allocate(1 << 20);
    CollectiveCall call = rank.plan(c, send->span(), recv->span());
    Overlap overlap(rank);
    const auto stream = rank.device().make_stream();
    const auto calls = [&] {
      for (int i = 0; i < kCalls; ++i) {
        overlap.enqueue(*stream, call, [&](Stream& own) {
          own.copy({to.span(), from.span(), Executor::kernel, {}});
        });
      }
    };
    calls();
    stream->synchronize(60);
    rank.barrier("all ranks to have warmed up");
    const long allocated = allocations();
    calls();
    EXPECT_EQ(allocations() - allocated, 0);
    stream->synchronize(60);
    rank.retire(std::move(call));
  });
} catch (const Unavailable& reason) {
  GTEST_SKIP() << "--device cuda: " << reason.what();
}

}  // namespace
}  // namespace duet
