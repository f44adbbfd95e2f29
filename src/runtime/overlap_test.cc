#include "runtime/overlap.h"

#include <string>

#include "core/error.h"
#include "device/machine.h"
#include "runtime/overlap_fixture.h"

namespace duet {
namespace {

constexpr OverlapPolicyKind kPolicies[] = {OverlapPolicyKind::serial, OverlapPolicyKind::base,
                                           OverlapPolicyKind::priority, OverlapPolicyKind::zero_cta,
                                           OverlapPolicyKind::dma};

class Results : public OverlapTest {};

// The consumer follows on the program's stream, and so does the next call.
TEST_P(Results, AreThereForWhatFollows) {
  communicator_->each([](LocalRank& rank) {
    for (const OverlapPolicyKind policy : kPolicies) {
      TwoWorks works(rank, 10000);
      Overlap overlap(rank, {policy, 0});
      const auto stream = rank.device().make_stream();
      for (int round = 0; round < 3; ++round) {
        works.fill(round);
        for (int repeat = 0; repeat < 5; ++repeat) {
          overlap.enqueue(*stream, works.call(), [&](Stream& own) { works.compute(own); });
        }
        works.consume(*stream);
        stream->synchronize(kOverlapDeadline);
        works.expect_seen(round);
      }
      works.retire();
    }
  });
}

TEST_P(Results, AreThereThoughComputeThrows) {
  communicator_->each([](LocalRank& rank) {
    for (const OverlapPolicyKind policy : kPolicies) {
      TwoWorks works(rank, 10000);
      Overlap overlap(rank, {policy, 0});
      const auto stream = rank.device().make_stream();
      works.fill(1);
      const auto throws = [&](Stream& own) {
        works.compute(own);
        if (rank.index() == 0) throw Mismatch("on purpose");
      };
      if (rank.index() == 0) {
        EXPECT_THROW(overlap.enqueue(*stream, works.call(), throws), Mismatch);
      } else {
        overlap.enqueue(*stream, works.call(), throws);
      }
      works.consume(*stream);
      stream->synchronize(kOverlapDeadline);
      works.expect_seen(1);
      works.fill(2);
      overlap.enqueue(*stream, works.call(), [&](Stream& own) { works.compute(own); });
      works.consume(*stream);
      stream->synchronize(kOverlapDeadline);
      works.expect_seen(2);
      works.retire();
    }
  });
}

// In two halves, with compute between them that the program enqueues itself.
TEST_P(Results, OfTwoHalves) {
  communicator_->each([](LocalRank& rank) {
    for (const OverlapPolicyKind policy : kPolicies) {
      TwoWorks works(rank, 10000);
      Overlap overlap(rank, {policy, 0});
      const auto stream = rank.device().make_stream();
      for (int round = 0; round < 3; ++round) {
        works.fill(round, *stream);
        overlap.begin(*stream, works.call());
        works.compute(*stream);
        overlap.end();
        works.consume(*stream);
        stream->synchronize(kOverlapDeadline);
        works.expect_seen(round);
      }
      works.retire();
    }
  });
}

TEST_P(Results, OfCallsOnSeveralStreams) {
  communicator_->each([](LocalRank& rank) {
    TwoWorks first(rank, 1000), second(rank, 3000);
    Overlap overlap(rank);
    Overlap moved = std::move(overlap);
    const auto one = rank.device().make_stream(), other = rank.device().make_stream();
    for (int round = 0; round < 3; ++round) {
      first.fill(round);
      second.fill(round + 5);
      moved.enqueue(*one, first.call(), [&](Stream& own) { first.compute(own); });
      first.consume(*one);
      moved.enqueue(*other, second.call(), [&](Stream& own) { second.compute(own); });
      second.consume(*other);
      one->synchronize(kOverlapDeadline);
      other->synchronize(kOverlapDeadline);
      first.expect_seen(round);
      second.expect_seen(round + 5);
    }
    second.retire();
    first.retire();
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, Results, machines_of({"host:3", "host:1", "sim:h200-4"}),
                         machine_label);

// The names of three works in the order in which a policy enqueues them, that of the caller's
// stream in upper case.
std::string order_of(LocalRank& rank, OverlapPolicyKind policy) {
  Overlap overlap(rank, {policy, 0}, 3);
  const auto stream = rank.device().make_stream();
  std::string order;
  const auto named = [&](double workgroups, char name) {
    return OverlapWork{workgroups, [&order, &stream, name](Stream& on) {
                         order += &on == stream.get() ? static_cast<char>(name - 'a' + 'A') : name;
                       }};
  };
  overlap.enqueue(*stream, {named(8, 'a'), named(132, 'b'), named(0, 'c')});
  overlap.enqueue(*stream, {named(8, 'x'), named(8, 'y')});
  overlap.enqueue(*stream, {});
  stream->synchronize(kOverlapDeadline);
  return order;
}

TEST(Overlap, EnqueuesWhatNeedsLeastFirst) {
  Communicator communicator({"host:1"});
  communicator.each([](LocalRank& rank) {
    EXPECT_EQ(order_of(rank, OverlapPolicyKind::dma), "caBxY");
    EXPECT_EQ(order_of(rank, OverlapPolicyKind::priority), "caBxY");
    EXPECT_EQ(order_of(rank, OverlapPolicyKind::base), "aBcxY");
    EXPECT_EQ(order_of(rank, OverlapPolicyKind::serial), "ABCXY");
  });
}

TEST(Overlap, JoinsAllOfSeveralWorks) {
  for (const char* device : {"host:2", "sim:h200-4"}) {
    Communicator communicator({device, "dma"});
    communicator.each([](LocalRank& rank) {
      TwoWorks two(rank, 20000), more(rank, 30000);
      Overlap overlap(rank, {OverlapPolicyKind::dma, 0}, 4);
      const std::vector<OverlapWork> works = {
          {64, [&](Stream& own) { two.compute(own); }},
          {0, [&](Stream& own) { two.call().enqueue(own); }},
          {32, [&](Stream& own) { more.compute(own); }},
          {0, [&](Stream& own) { more.call().enqueue(own); }},
      };
      const auto stream = rank.device().make_stream();
      for (int round = 0; round < 3; ++round) {
        two.fill(round);
        more.fill(round);
        overlap.enqueue(*stream, works);
        two.consume(*stream);
        more.consume(*stream);
        stream->synchronize(kOverlapDeadline);
        two.expect_seen(round);
        more.expect_seen(round);
      }
      more.retire();
      two.retire();
    });
  }
}

TEST(Overlap, RefusesWhatDoesNotFit) {
  Communicator communicator({"host:2"});
  communicator.each([](LocalRank& rank) {
    for (const OverlapPolicyKind kind :
         {OverlapPolicyKind::partition, OverlapPolicyKind::priority_partition,
          OverlapPolicyKind::dma_partition}) {
      EXPECT_THROW(Overlap(rank, {kind, 8}), Unavailable);
    }
    EXPECT_THROW(Overlap(rank, {OverlapPolicyKind::dma, 0}, 0), BadArgument);
    Overlap moved(rank);
    Overlap overlap(std::move(moved));
    const auto stream = rank.device().make_stream();
    const OverlapWork nothing{1, [](Stream&) { FAIL() << "enqueued"; }};
    EXPECT_THROW(moved.enqueue(*stream, {nothing}), BadArgument);
    EXPECT_THROW(overlap.enqueue(*stream, {nothing, nothing, nothing}), BadArgument);
    EXPECT_THROW(overlap.enqueue(*stream, {nothing, {0, nullptr}}), BadArgument);
    EXPECT_THROW(overlap.enqueue(*stream, {nothing, {-1, [](Stream&) {}}}), BadArgument);
    const auto other = open_machine("host");
    EXPECT_THROW(overlap.enqueue(*other->device(0).make_stream(), {nothing}), BadArgument);
    CollectiveCall none;
    void* const native = nullptr;
    EXPECT_THROW(overlap.enqueue(native, none, [](Stream&) {}), Unavailable);
    EXPECT_THROW(overlap.enqueue(nullptr, none, [](Stream&) {}), Unavailable);
    // The call is none: compute is enqueued all the same.
    bool computed = false;
    EXPECT_THROW(overlap.enqueue(*stream, none, [&](Stream&) { computed = true; }), BadArgument);
    EXPECT_TRUE(computed);
    stream->synchronize(kOverlapDeadline);
  });
}

TEST(Overlap, HalvesFollowEachOther) {
  Communicator communicator({"host:2", "dma"});
  communicator.each([](LocalRank& rank) {
    TwoWorks works(rank, 1000);
    works.fill(1);
    const auto stream = rank.device().make_stream(), other = rank.device().make_stream();
    Overlap overlap(rank), one_work(rank, {OverlapPolicyKind::dma, 0}, 1);
    EXPECT_THROW(overlap.end(), BadArgument);
    EXPECT_THROW(one_work.begin(*stream, works.call()), BadArgument);
    CollectiveCall none;
    EXPECT_THROW(overlap.begin(*stream, none), BadArgument);
    EXPECT_THROW(overlap.end(), BadArgument);
    overlap.begin(*stream, works.call());
    EXPECT_THROW(overlap.begin(*other, works.call()), BadArgument);
    works.compute(*stream);
    overlap.end();
    EXPECT_THROW(overlap.end(), BadArgument);
    works.consume(*stream);
    stream->synchronize(kOverlapDeadline);
    works.expect_seen(1);
    works.retire();
  });
}

TEST(Overlap, KnowsWhichEngineAPolicyIsAbout) {
  EXPECT_EQ(engine_of({OverlapPolicyKind::dma, 0}, "cuda:0,1"), "dma");
  EXPECT_EQ(engine_of({OverlapPolicyKind::priority, 0}, "cuda"), "nccl");
  EXPECT_EQ(engine_of({OverlapPolicyKind::zero_cta, 0}, "cuda"), "nccl-zero-cta");
  EXPECT_EQ(engine_of({OverlapPolicyKind::serial, 0}, "host:2"), "kernel");
  EXPECT_EQ(engine_of({OverlapPolicyKind::base, 0}, "sim:h200-4"), "vendor-model");
  EXPECT_THROW(engine_of({OverlapPolicyKind::base, 0}, "hots:2"), UsageError);
  EXPECT_THROW(Communicator({"host:2", engine_of({OverlapPolicyKind::zero_cta, 0}, "host:2")}),
               UsageError);
}

}  // namespace
}  // namespace duet
