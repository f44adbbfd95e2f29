// Cost, number of runs and exact virtual time of a repeated Work.
#include "timing/repeated.h"

#include <gtest/gtest.h>

#include <atomic>

#include "timing/sampler.h"

namespace duet {
namespace {

// A task on one compute unit; one enqueue() makes `calls` calls.
class Piece : public Work {
 public:
  explicit Piece(int calls = 1) : calls_(calls) {}
  std::string name() const override { return "piece"; }
  Cost cost() const override { return {1, 2, 3, {{"tokens", 4}, {"link_gbit_per_s", 5}}}; }
  void prepare(Rank&, const Placement&) override {}
  void enqueue(Rank&, Stream& stream) override {
    for (int i = 0; i < calls_; ++i) {
      stream.run({"piece", {1e9, DType::fp32, 0, 1}, [this] { ++ran; }});
    }
  }
  int calls() const override { return calls_; }
  void renew(Rank&) override {}
  std::optional<Skipped> verify(Rank&) override { return {}; }
  void release(Rank&) noexcept override { ++released; }

  std::atomic<int> ran{0}, released{0};

 private:
  int calls_;
};

double median_seconds(Work& work) {
  const auto machine = open_machine("sim:mi300x-8");
  Team team(*machine, {0});
  Mode mode;
  mode.min_iterations = mode.max_iterations = 3;
  return summarise(Sampler(team).measure(work, mode).samples).median;
}

TEST(Repeated, CostsSoManyTimes) {
  Piece piece;
  const Cost cost = Repeated(piece, 3).cost();
  EXPECT_EQ(cost.flop, 3);
  EXPECT_EQ(cost.memory_bytes, 6);
  EXPECT_EQ(cost.wire_bytes, 9);
  EXPECT_EQ(cost.more, (ByName<double>{{"tokens", 12}, {"link_gbit_per_s", 5}}));
}

TEST(Repeated, TakesTheTimeOfAllPieces) {
  for (const int calls : {1, 4}) {
    Piece one(calls), piece(calls);
    Repeated four(piece, 4);
    EXPECT_NEAR(median_seconds(four) / median_seconds(one), 4, 0.1) << calls;
    EXPECT_EQ(piece.ran, 4 * one.ran);
    EXPECT_EQ(piece.released, 1);
  }
}

TEST(Repeated, RefusesNoTimes) {
  Piece piece;
  EXPECT_THROW(Repeated(piece, 0), BadArgument);
}

}  // namespace
}  // namespace duet
