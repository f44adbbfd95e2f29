// A delayed norm is the sum of its own iteration, however far the side stream is behind.
#include "halo/norm.h"

#include <gtest/gtest.h>

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
