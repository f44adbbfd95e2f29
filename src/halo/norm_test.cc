// A delayed norm is the sum of its own iteration, however far the side stream is behind.
#include "halo/norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/machine.h"

namespace duet {
namespace {

constexpr double kNormDeadline = 60;  // seconds

// An all_gather of one rank that takes 5 ms.
class SlowGather : public CollectiveSession {
 public:
  std::optional<Skipped> unsupported(const Collective&, bool) const override { return {}; }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank&, const Collective&,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    return std::make_unique<Plan>(buffers);
  }

 private:
  class Plan : public CollectivePlan {
   public:
    explicit Plan(const CollectiveBuffers& buffers) : buffers_(buffers) {}
    void enqueue(Stream& stream) override {
      stream.run({"delay", {}, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }});
      stream.copy({buffers_.recv, buffers_.send, Executor::dma, {}});
    }

   private:
    CollectiveBuffers buffers_;
  };
};

// An all_gather of one rank that blocks, as MPI's do, and notes how many sweeps there are by then.
class BlockingGather : public CollectiveSession {
 public:
  std::optional<Skipped> unsupported(const Collective&, bool) const override { return {}; }
  int sweeps = 0;
  std::vector<int> sweeps_at_gather;

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank&, const Collective&,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    return std::make_unique<Plan>(*this, buffers);
  }

 private:
  class Plan : public CollectivePlan {
   public:
    Plan(BlockingGather& session, const CollectiveBuffers& buffers)
        : session_(session), buffers_(buffers) {}
    bool host_driven() const override { return true; }
    void enqueue(Stream& stream) override {
      session_.sweeps_at_gather.push_back(session_.sweeps);
      stream.synchronize(kNormDeadline);
      stream.copy({buffers_.recv, buffers_.send, Executor::dma, {}});
    }

   private:
    BlockingGather& session_;
    CollectiveBuffers buffers_;
  };
};

// Enqueues a sweep of which every partial sum is `value`, between the two calls of its iteration.
void sweep(NormReduction& norm, Stream& stream, int index, double value) {
  norm.before(stream, index);
  const Span partials = norm.partials(index);
  stream.run({"sweep", {}, [=] {
                auto* const to = reinterpret_cast<double*>(partials.data);
                std::fill(to, to + partials.bytes / sizeof(double), value);
              }});
}

TEST(NormReduction, ABlockingGatherIsDelayedToo) {
  constexpr int kIterations = 5;
  const auto machine = open_machine("host:1");
  Team team(*machine);
  BlockingGather gathers;
  team.each([&](Rank& rank) {
    NormReduction norm(rank, NormMode::delayed, &gathers, 2, kIterations);
    const auto stream = rank.device.make_stream();
    for (int i = 0; i < kIterations; ++i) {
      sweep(norm, *stream, i, i);
      ++gathers.sweeps;
      norm.after(*stream, i);
    }
    norm.finish(*stream);
    stream->synchronize(kNormDeadline);
    EXPECT_EQ(norm.sums(), (std::vector<double>{0, 2, 4, 6, 8}));
  });
  EXPECT_EQ(gathers.sweeps_at_gather, (std::vector<int>{2, 3, 4, 5, 5}));
}

// The seconds of a simulated machine until a norm can be used.
double simulated_seconds(NormMode mode) {
  const auto machine = open_machine("sim:h200:devices=1");
  Team team(*machine);
  double seconds = 0;
  team.each([&](Rank& rank) {
    NormReduction norm(rank, mode, nullptr, 2, 1);
    const auto stream = rank.device.make_stream();
    const double begin = machine->now();
    sweep(norm, *stream, 0, 1);
    norm.after(*stream, 0);
    stream->synchronize(kNormDeadline);
    seconds = machine->now() - begin;
  });
  return seconds;
}

TEST(NormReduction, TheHostReadsNormsOfSimulatedDevicesByACopy) {
  EXPECT_GT(simulated_seconds(NormMode::host), 1e-6 + simulated_seconds(NormMode::device));
}

class NormReductionModes : public ::testing::TestWithParam<NormMode> {};

TEST_P(NormReductionModes, AddsUpEachIterationsOwnPartialSums) {
  constexpr int kIterations = 6;
  constexpr std::int64_t kPartials = 3;
  const auto machine = open_machine("host:1");
  Team team(*machine);
  SlowGather gathers;
  team.each([&](Rank& rank) {
    NormReduction norm(rank, GetParam(), &gathers, kPartials, kIterations);
    norm.poison();
    const auto stream = rank.device.make_stream();
    for (int call = 0; call < 2; ++call) {
      for (int i = 0; i < kIterations; ++i) {
        norm.before(*stream, i);
        const Span partials = norm.partials(i);
        stream->run({"sweep", {}, [=] {
                       auto* const to = reinterpret_cast<double*>(partials.data);
                       for (int k = 0; k < kPartials; ++k) to[k] = 100 * call + i + 0.25 * k;
                     }});
        norm.after(*stream, i);
      }
      norm.finish(*stream);
      stream->synchronize(kNormDeadline);
      const std::vector<double> sums = norm.sums();
      ASSERT_EQ(sums.size(), static_cast<std::size_t>(kIterations));
      for (int i = 0; i < kIterations; ++i) {
        EXPECT_EQ(sums[static_cast<std::size_t>(i)], 3.0 * (100 * call + i) + 0.75) << i;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Norms, NormReductionModes,
                         ::testing::Values(NormMode::device, NormMode::host, NormMode::delayed));

}  // namespace
}  // namespace duet
