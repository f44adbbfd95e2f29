// Sessions of NCCL on host devices with the fake library: what they make, register, refuse and
// free.
#include "collectives/nccl/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "collectives/group_sessions.h"
#include "collectives/nccl/communicators.h"
#include "collectives/nccl/engine.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "core/module.h"
#include "fake_gpu/nccl/recording_library.h"

namespace duet::nccl {
namespace {

Collective one_of(CollectiveKind kind) {
  Collective one;
  one.kind = kind;
  one.count = 16;
  one.root = 1;
  return one;
}

Mode mode(const std::string& suffix) {
  for (const Mode& each : modes()) {
    if (each.suffix == suffix) return each;
  }
  return {};
}

class NcclSessionTest : public ::testing::Test {
 protected:
  void SetUp() override { reset(); }

  // Makes one plan on all ranks, with buffers that the session allocates.
  void plan_once(Session& session, const Collective& one, bool in_place) {
    team_.each([&](Rank& rank) {
      const auto send_size = send_bytes(one, rank.index, rank.size);
      const auto recv_size = recv_bytes(one, rank.index, rank.size);
      const auto offset = in_place_offset(one, rank.index);
      const auto send = session.allocate(rank, send_size), recv = session.allocate(rank, recv_size);
      const bool both = in_place && send_size > 0 && recv_size > 0;
      CollectiveBuffers buffers{send->span(), recv->span()};
      if (both && send_size > recv_size) {
        buffers.recv = send->span().slice(offset, recv_size);
      } else if (both) {
        buffers.send = recv->span().slice(offset, send_size);
      }
      const auto plan = session.plan(rank, one, buffers);
      const auto stream = rank.device.make_stream();
      plan->enqueue(*stream);
    });
  }

  Library nccl_ = fake_library();
  std::unique_ptr<Machine> machine_ = open_machine("host:3");
  Team team_{*machine_};
};

TEST_F(NcclSessionTest, OneCommunicatorARankEndsWithTheSession) {
  {
    const auto session = make_engine(nccl_, mode(""))->open(team_);
    EXPECT_EQ(fake_calls().comms, 3);
    plan_once(dynamic_cast<Session&>(*session), one_of(CollectiveKind::all_gather), false);
    EXPECT_EQ(fake_calls().calls.size(), 6u);  // the first call and one more, on three ranks
  }
  EXPECT_EQ(fake_calls().destroyed, 3);
  EXPECT_EQ(fake_calls().aborted, 0);
}

// A communicator for each group, which its ranks join when they first plan.
TEST_F(NcclSessionTest, GroupsOfRanksHaveCommunicatorsOfTheirOwn) {
  const auto four = open_machine("host:4");
  Team team(*four);
  const auto engine = make_engine(nccl_, mode(""));
  {
    const GroupSessions groups(team, strided_groups(4, 2), *engine);
    EXPECT_EQ(fake_calls().comms, 0);
    team.each([&](Rank& of_all) {
      Rank rank = groups.rank(of_all);
      Collective one;
      one.count = 16;
      const auto send = rank.device.allocate(send_bytes(one, rank.index, rank.size));
      const auto recv = rank.device.allocate(recv_bytes(one, rank.index, rank.size));
      for (int i = 0; i < 2; ++i) {
        groups.session(of_all)->plan(rank, one, {send.span(), recv.span()});
      }
    });
    EXPECT_EQ(fake_calls().comms, 4);
    EXPECT_EQ(fake_calls().sizes, (std::vector<int>{2, 2, 2, 2}));
  }
  EXPECT_EQ(fake_calls().destroyed, 4);
  EXPECT_EQ(fake_calls().aborted, 0);
}

// The drop-in has what it may take over, and NCCL the rest.
TEST_F(NcclSessionTest, TheDropInStandsBeforeItsOwnFunctionsAlone) {
  const std::string path = own_file("nccl_shim", "libduet-nccl.so");
  if (path.empty()) GTEST_SKIP() << "the drop-in is built for x86-64";
  nccl_.get_version = [](int*) { return kSuccess; };
  const Library both = with_drop_in(nccl_, path);
  EXPECT_NE(both.all_gather, nccl_.all_gather);
  EXPECT_NE(both.comm_init, nccl_.comm_init);
  EXPECT_NE(both.comm_abort, nccl_.comm_abort);
  EXPECT_EQ(both.get_version, nccl_.get_version);
  EXPECT_EQ(both.window_deregister, nccl_.window_deregister);
  EXPECT_THROW(with_drop_in(nccl_, path + ".not"), Unavailable);
}

// Each of its two files goes by the environment of the call that opened it.
TEST_F(NcclSessionTest, TheDropInsEnvironmentIsReadWhenItIsOpened) {
  const std::string path = own_file("nccl_shim", "replacement/libnccl.so.2");
  if (path.empty()) GTEST_SKIP() << "the drop-in is built for x86-64";
  setenv("DUET_NCCL", "/nowhere/libnccl.so.2", 1);
  const Library both = with_drop_in(nccl_, path, DropInMeans::kernel);
  EXPECT_STREQ(std::getenv("DUET_NCCL"), "/nowhere/libnccl.so.2");  // the user's own
  EXPECT_EQ(std::getenv("DUET_NCCL_KERNEL"), nullptr);
  unsetenv("DUET_NCCL");
  Comm comm = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_NE(both.comm_init(&comm, 1, {}, 0), kSuccess);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "DUET_NCCL=/nowhere/libnccl.so.2"));
}

TEST_F(NcclSessionTest, TheDropInsKernelMakesFiveCollectives) {
  Session session(nccl_, drop_in_kernel_mode(), team_);
  int made = 0;
  for (const CollectiveKind kind : all_collectives()) {
    made += !session.unsupported(one_of(kind), false);
  }
  EXPECT_EQ(made, 5);
}

// NCCL's default is to use NVLS, so the journal must state when NVLS is off.
TEST_F(NcclSessionTest, AlgorithmSaysThatNvlsIsOff) {
  for (const bool off : {false, true}) {
    nccl_.nvls_off = off;
    Session session(nccl_, mode(""), team_);
    team_.each([&](Rank& rank) {
      const Collective one = one_of(CollectiveKind::all_reduce);
      const auto send = session.allocate(rank, send_bytes(one, rank.index, rank.size));
      const auto recv = session.allocate(rank, recv_bytes(one, rank.index, rank.size));
      const auto plan = session.plan(rank, one, {send->span(), recv->span()});
      EXPECT_EQ(plan->algorithm(),
                off ? "NCCL 2.28.9, defaults, NVLS off" : "NCCL 2.28.9, defaults");
    });
  }
}

TEST_F(NcclSessionTest, ModesConfigure) {
  Session(nccl_, mode("-8cta"), team_);
  EXPECT_EQ(fake_calls().max_ctas, 8);
  EXPECT_EQ(fake_calls().cta_policy, kUndefined);
  Session(nccl_, mode("-zero-cta"), team_);
  EXPECT_EQ(fake_calls().max_ctas, kUndefined);
  EXPECT_EQ(fake_calls().cta_policy, kPolicyZeroCta);
}

TEST_F(NcclSessionTest, EngineNamesTheVersionItNeeds) {
  const Library old = fake_library(22705);
  EXPECT_EQ(message_of<Unavailable>([&] { make_engine(old, mode("-zero-cta"))->open(team_); }),
            "nccl-zero-cta needs NCCL 2.28.0 or later, this is 2.27.5");
  EXPECT_NO_THROW(make_engine(old, mode("-window"))->open(team_));
}

// Every rank registers the same windows, whatever buffers it has, and all windows are deregistered.
TEST_F(NcclSessionTest, WindowsAreEqualOnAllRanks) {
  for (const CollectiveKind kind : all_collectives()) {
    for (const bool in_place : {false, true}) {
      reset();
      {
        Session session(nccl_, mode("-window"), team_);
        if (session.unsupported(one_of(kind), in_place)) continue;
        plan_once(session, one_of(kind), in_place);
      }
      std::vector<std::string> windows[3];
      for (const std::string& each : fake_calls().windows) {
        windows[each[5] - '0'].push_back(each.substr(7));
      }
      SCOPED_TRACE(std::string(name(kind)) + (in_place ? " in place" : ""));
      EXPECT_FALSE(windows[0].empty());
      EXPECT_EQ(windows[0], windows[1]);
      EXPECT_EQ(windows[0], windows[2]);
      EXPECT_EQ(fake_calls().windows_open, 0);
      EXPECT_EQ(fake_calls().allocations, 0);
      EXPECT_EQ(fake_calls().destroyed, 3);
    }
  }
}

TEST_F(NcclSessionTest, RefusesWhatNcclCannot) {
  Session plain(nccl_, mode(""), team_), zero(nccl_, mode("-zero-cta"), team_);
  EXPECT_FALSE(plain.unsupported(one_of(CollectiveKind::all_to_all), false));
  EXPECT_TRUE(plain.unsupported(one_of(CollectiveKind::all_to_all), true));
  EXPECT_TRUE(plain.unsupported(one_of(CollectiveKind::send_recv), true));
  EXPECT_FALSE(zero.unsupported(one_of(CollectiveKind::gather), true));
  EXPECT_TRUE(zero.unsupported(one_of(CollectiveKind::all_reduce), false));
  EXPECT_TRUE(zero.unsupported(one_of(CollectiveKind::all_to_all_v), false));
}

TEST_F(NcclSessionTest, RanksMustAgree) {
  Session session(nccl_, mode(""), team_);
  EXPECT_THROW(team_.each([&](Rank& rank) {
    Collective one = one_of(CollectiveKind::all_reduce);
    one.count += rank.index == 2 ? 1 : 0;
    const auto buffer = session.allocate(rank, 1024);
    session.plan(rank, one, {buffer->span(), buffer->span()});
  }),
               BadArgument);
}

TEST_F(NcclSessionTest, AFailedCallAbortsInsteadOfWaiting) {
  {
    Session session(nccl_, mode(""), team_);
    reset(true);
    EXPECT_THROW(plan_once(session, one_of(CollectiveKind::all_gather), false), Error);
  }
  EXPECT_EQ(fake_calls().aborted, 3);
  EXPECT_EQ(fake_calls().destroyed, 0);
}

TEST_F(NcclSessionTest, NoCommunicatorIsAbortedUnderACall) {
  Communicators communicators(nccl_, mode(""), team_);
  std::thread giving_up;
  communicators.enqueue(1, [&] {
    giving_up = std::thread([&] { communicators.give_up("a test"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(fake_calls().aborted, 1);  // rank 0's communicator
  });
  giving_up.join();
  EXPECT_EQ(fake_calls().aborted, 3);
  EXPECT_THROW(communicators.enqueue(1, [] {}), PeerFailed);
}

// Ranks of other processes, whose kernels wait for this one, hear of it by the team.
TEST_F(NcclSessionTest, ACallThatThrowsFailsTheTeam) {
  Communicators communicators(nccl_, mode(""), team_);
  std::string reason;
  const int number = team_.on_failure([&](const std::string& what) { reason = what; });
  EXPECT_THROW(communicators.enqueue(1, [] { throw OutOfMemory("no memory"); }), OutOfMemory);
  team_.forget(number);
  EXPECT_EQ(reason, "rank 1: no memory");
  EXPECT_EQ(fake_calls().aborted, 3);
  EXPECT_EQ(message_of<PeerFailed>([&] { communicators.enqueue(0, [] {}); }),
            "rank 1: no memory: NCCL was aborted");
}

}  // namespace
}  // namespace duet::nccl
