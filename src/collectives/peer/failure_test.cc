// One rank fails while the streams of other ranks wait for it. All ranks must end with its error
// well before the deadline, and plans that are made afterwards must work.
#include <gtest/gtest.h>

#include "collectives/collective_work.h"
#include "collectives/own_engines.h"
#include "collectives/session/calls_fixture.h"
#include "collectives/session/watchdog.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "device/faulty_stream_fixture.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

constexpr double kDeadline = 60;  // seconds; a test takes less than 1 s

struct Fault {
  CollectiveKind kind;
  CollectiveEngine& engine;
  int calls = 0;  // complete calls that the failing rank enqueues first
  int call = 0;   // the stream call that fails in the next one; -1: throws before any stream call
};

// A rank's objects. They outlive each(), so that nothing is freed while work is pending.
struct Own {
  std::unique_ptr<CollectiveMemory> send, recv;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<CollectivePlan> plan;
};

class Failing : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr int kCalls = 5;

  Own make(Rank& rank, CollectiveSession& session, const Collective& c) {
    Own own;
    own.send = session.allocate(rank, send_bytes(c, rank.index, rank.size));
    own.recv = session.allocate(rank, recv_bytes(c, rank.index, rank.size));
    own.stream = rank.device.make_stream();
    own.plan = session.plan(rank, c, {own.send->span(), own.recv->span()});
    return own;
  }

  // Makes the last rank fail while all others wait for it. Returns false where fault.call exceeds
  // the number of stream calls in a call of the collective.
  bool fail(CollectiveSession& session, const Fault& fault) {
    const Collective c = collective_of(fault.kind, 3 << 10);
    std::vector<Own> all(static_cast<std::size_t>(team_.size()));
    bool thrown = true;
    try {
      team_.each([&](Rank& rank) {
        Own& own = all[static_cast<std::size_t>(rank.index)];
        own = make(rank, session, c);
        const bool last = rank.index == rank.size - 1;
        for (int i = 0; i < (last ? fault.calls : kCalls); ++i) own.plan->enqueue(*own.stream);
        team_.barrier("all ranks to have enqueued");
        if (last && fault.call < 0) throw Error("on purpose");
        FaultyStream faulty(*own.stream, fault.call);
        if (last) own.plan->enqueue(faulty);
        own.stream->synchronize(kDeadline);
      });
      thrown = false;
    } catch (const Timeout& error) {
      ADD_FAILURE() << "a stream was not let go: " << error.what();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "on purpose");
    }
    for (Own& own : all) {
      if (thrown) {
        EXPECT_THROW(own.plan->enqueue(*own.stream), PeerFailed);
      }
      let_go(own);
    }
    return thrown;
  }

  // Frees memory before the plan and the stream, as programs may do. On GPUs, freeing memory waits
  // for all streams of the device.
  static void let_go(Own& own) {
    own.recv.reset();
    own.send.reset();
    own.plan.reset();
    own.stream.reset();
  }

  void expect_next_calls_right(CollectiveSession& session, CollectiveKind kind) {
    run_calls(team_, plans_of(session), collective_of(kind, 1 << 10), {2});
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
};

TEST_P(Failing, ARankThatThrowsLetsTheOthersGo) {
  for (const auto make : {make_dma_collectives, make_kernel_collectives, make_auto_collectives}) {
    const auto engine = make();
    const auto session = engine->open(team_);
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::reduce_scatter,
          CollectiveKind::all_reduce, CollectiveKind::broadcast}) {
      SCOPED_TRACE(engine->name() + ", " + std::string(name(kind)));
      fail(*session, {kind, *engine, 0, -1});
      fail(*session, {kind, *engine, 2, -1});
      expect_next_calls_right(*session, kind);
    }
  }
}

TEST_P(Failing, AnEnqueueThatThrowsHalfWayLetsTheOthersGo) {
  for (const auto make : {make_dma_collectives, make_kernel_collectives}) {
    const auto engine = make();
    for (const CollectiveKind kind :
         {CollectiveKind::all_to_all, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      SCOPED_TRACE(engine->name() + ", " + std::string(name(kind)));
      auto session = engine->open(team_);
      for (int call = 0; fail(*session, {kind, *engine, kCalls - 1, call}); ++call) {
        session = call % 2 == 0 ? engine->open(team_) : std::move(session);
      }
      expect_next_calls_right(*session, kind);
    }
  }
}

// Stack unwinding destroys all of a rank's objects inside its function, while work is pending.
TEST_P(Failing, WhatIsUnwoundUnderWayIsFreedInTheEnd) {
  for (const auto make_engine : {make_dma_collectives, make_kernel_collectives}) {
    const auto session = make_engine()->open(team_);
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      const Collective c = collective_of(kind, 3 << 10);
      EXPECT_THROW(team_.each([&](Rank& rank) {
        const Own own = make(rank, *session, c);
        const bool last = rank.index == rank.size - 1;
        for (int i = 0; i < kCalls - (last ? 1 : 0); ++i) own.plan->enqueue(*own.stream);
        team_.barrier("all ranks to have enqueued");
        if (last) {
          FaultyStream faulty(*own.stream, 1);
          own.plan->enqueue(faulty);
          throw Error("on purpose");
        }
        own.stream->synchronize(kDeadline);
        team_.barrier("a rank that fails");
      }),
                   Error);
      expect_next_calls_right(*session, kind);
    }
  }
}

// A work that throws on the last rank in the middle of a measurement.
class ThrowingWork : public CollectiveWork {
 public:
  using CollectiveWork::CollectiveWork;
  void enqueue(Rank& rank, Stream& stream) override {
    if (rank.index == rank.size - 1 && ++calls_ > 3) throw Error("on purpose");
    CollectiveWork::enqueue(rank, stream);
  }

 private:
  int calls_ = 0;
};

// A process that is gone ends others, which are then gone too.
TEST(Watchdog, NamesTheFirstFailureSinceAPlanWasMade) {
  const auto machine = open_machine("host");
  Team team(*machine);
  Watchdog watchdog(team);
  watchdog.fail("what failed before");
  const int made_at = watchdog.failures();
  watchdog.require_well(made_at, "all_gather");
  watchdog.fail("process 1 is gone");
  watchdog.fail("process 0 is gone");
  EXPECT_EQ(message_of<PeerFailed>([&] { watchdog.require_well(made_at, "all_gather"); }),
            "process 1 is gone while waiting for the ranks of all_gather");
}

TEST(Watchdog, KeepsTheReasonsOfTheLastFailures) {
  const auto machine = open_machine("host");
  Team team(*machine);
  Watchdog watchdog(team);
  const int most = static_cast<int>(Watchdog::kMostReasons), all = 3 * most;
  for (int failure = 0; failure < all; ++failure) watchdog.fail(std::to_string(failure));
  const auto reason_since = [&](int made_at) {
    return message_of<PeerFailed>([&] { watchdog.require_well(made_at, "a call"); });
  };
  EXPECT_EQ(reason_since(0), std::to_string(all - most) + " while waiting for the ranks of a call");
  EXPECT_EQ(reason_since(all - 2),
            std::to_string(all - 2) + " while waiting for the ranks of a call");
}

TEST_P(Failing, AMeasurementEndsWithTheErrorOfOneRank) {
  const Mode mode = short_mode(5, kDeadline);
  for (const auto make_engine : {make_dma_collectives, make_kernel_collectives}) {
    const auto session = make_engine()->open(team_);
    for (const CollectiveKind kind : {CollectiveKind::all_to_all, CollectiveKind::all_reduce}) {
      Collective c = collective_of(kind, 3 << 10);
      ThrowingWork failing(team_, *session, c, false);
      EXPECT_EQ(message_of<Error>([&] { Sampler(team_).measure(failing, mode); }), "on purpose");
      CollectiveWork next(team_, *session, c, false);
      Sampler(team_).measure(next, mode);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Failing, machines_of({"host:3", "sim:h200-4", "sim:mi300x-8"}),
                         machine_label);

}  // namespace
}  // namespace duet
