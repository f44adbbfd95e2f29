// What overlapping gains, in the exact time of simulated machines.
#include <algorithm>

#include "runtime/overlap_fixture.h"

namespace duet {
namespace {

// Of rank 0, in seconds: copy engines gather while the compute units multiply.
struct Times {
  double compute = 0, gather = 0, serial = 0, base = 0, dma = 0;
};

class Stopwatch {
 public:
  explicit Stopwatch(LocalRank& rank)
      : rank_(rank),
        stream_(rank.device().make_stream()),
        begin_(rank.device().make_event()),
        end_(rank.device().make_event()) {}

  double time(const std::function<void(Stream&)>& enqueue) {
    rank_.barrier("all ranks to begin", kOverlapDeadline);
    stream_->record(*begin_);
    enqueue(*stream_);
    stream_->record(*end_);
    stream_->synchronize(kOverlapDeadline);
    return end_->seconds_since(*begin_);
  }

 private:
  LocalRank& rank_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> begin_, end_;
};

Times times_on(const char* device) {
  Times times;
  Communicator communicator({device, "dma"});
  communicator.each([&](LocalRank& rank) {
    TwoWorks works(rank, 4 << 20);
    Task multiply;
    multiply.name = "multiply";
    multiply.demand.flop = 2e11;
    multiply.demand.dtype = DType::bf16;
    const auto compute = [&](Stream& stream) { stream.run(multiply); };
    Stopwatch watch(rank);
    const auto overlapped = [&](OverlapPolicyKind kind) {
      Overlap overlap(rank, {kind, 0});
      return watch.time([&](Stream& own) { overlap.enqueue(own, works.call(), compute); });
    };
    Times mine;
    mine.compute = watch.time(compute);
    mine.gather = watch.time([&](Stream& own) { works.call().enqueue(own); });
    mine.serial = overlapped(OverlapPolicyKind::serial);
    mine.base = overlapped(OverlapPolicyKind::base);
    mine.dma = overlapped(OverlapPolicyKind::dma);
    if (rank.index() == 0) times = mine;
    works.retire();
  });
  return times;
}

TEST(OverlapTime, OfBothIsNearThatOfTheLonger) {
  for (const char* device : {"sim:h200-4", "sim:mi300x-8"}) {
    const Times times = times_on(device);
    EXPECT_NEAR(times.serial, times.compute + times.gather, 0.01 * times.serial) << device;
    EXPECT_LT(times.dma, times.serial) << device;
    EXPECT_LT(times.base, times.serial) << device;
    const double longer = std::max(times.compute, times.gather);
    EXPECT_GE(times.dma, 0.999 * longer) << device;
    EXPECT_LT(times.dma, 1.1 * longer) << device;
  }
}

}  // namespace
}  // namespace duet
