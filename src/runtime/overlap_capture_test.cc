#include "core/error.h"
#include "device/graph.h"
#include "runtime/overlap_fixture.h"

namespace duet {
namespace {

class Captured : public OverlapTest {};

// The consumer is in the graph, behind the join. A launch each round sees that round's contents.
TEST_P(Captured, RunAHundredTimes) {
  communicator_->each([](LocalRank& rank) {
    for (const OverlapPolicyKind policy :
         {OverlapPolicyKind::serial, OverlapPolicyKind::base, OverlapPolicyKind::dma}) {
      TwoWorks works(rank, 5000);
      Overlap overlap(rank, {policy, 0});
      const auto stream = rank.device().make_stream();
      const auto graph = capture(*stream, [&] {
        overlap.enqueue(*stream, works.call(), [&](Stream& own) { works.compute(own); });
        works.consume(*stream);
      });
      for (int round = 0; round < 10; ++round) {
        works.fill(round);
        for (int launch = 0; launch < 10; ++launch) graph->launch(*stream);
        stream->synchronize(kOverlapDeadline);
        works.expect_seen(round);
      }
      works.retire();
    }
  });
}

TEST_P(Captured, BesideCallsThatAreNot) {
  communicator_->each([](LocalRank& rank) {
    TwoWorks works(rank, 5000);
    Overlap overlap(rank);
    const auto stream = rank.device().make_stream();
    const auto both = [&] {
      overlap.enqueue(*stream, works.call(), [&](Stream& own) { works.compute(own); });
      works.consume(*stream);
    };
    const auto graph = capture(*stream, both);
    for (int round = 0; round < 5; ++round) {
      works.fill(round);
      both();
      graph->launch(*stream);
      both();
      stream->synchronize(kOverlapDeadline);
      works.expect_seen(round);
    }
    works.retire();
  });
}

TEST_P(Captured, AbandonedByAnErrorLeavesTheNextCallAsItWas) {
  communicator_->each([](LocalRank& rank) {
    TwoWorks works(rank, 5000);
    Overlap overlap(rank);
    const auto stream = rank.device().make_stream();
    const auto broken = [&] {
      overlap.enqueue(*stream, works.call(), [](Stream&) { throw Mismatch("on purpose"); });
    };
    EXPECT_THROW(capture(*stream, broken), Mismatch);
    works.fill(1);
    overlap.enqueue(*stream, works.call(), [&](Stream& own) { works.compute(own); });
    works.consume(*stream);
    stream->synchronize(kOverlapDeadline);
    works.expect_seen(1);
    works.retire();
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, Captured, machines_of({"host:2", "sim:h200-4"}), machine_label);

}  // namespace
}  // namespace duet
