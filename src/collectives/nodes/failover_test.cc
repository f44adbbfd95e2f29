// Calls over rails of which one fails, at one end: on real rails, whose posts and events a test
// holds back.
#include "collectives/nodes/failover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "collectives/nodes/rails_fixture.h"
#include "collectives/session/calls_fixture.h"
#include "core/error.h"
#include "fabric/library.h"

namespace duet {
namespace {

enum class RailFault {
  cut,      // posts are taken and go nowhere
  unheard,  // what has arrived is not known to have ended
  broken,   // the library reports an error
  held,     // what has ended is told when the test allows it
  refuses,  // memory of a peer cannot be imported: that whose turn it is, the others can
};

// A rail fails at one end after so many posts, or imports.
struct BadRail {
  std::string name;
  RailFault fault = RailFault::cut;
  int after = 0;
};

struct Wirings {
  std::mutex mutex;
  std::vector<BadRail> bad;  // each is taken by the first end that opens the rail
  std::atomic<bool> tell{false};
  std::atomic<int> held{0};  // ends
};

class WiredRail : public Rail {
 public:
  WiredRail(std::unique_ptr<Rail> rail, RailInfo info, std::optional<BadRail> bad, Wirings& wirings)
      : rail_(std::move(rail)), info_(std::move(info)), bad_(std::move(bad)), wirings_(wirings) {}

  const RailInfo& info() const override { return info_; }
  std::string endpoint() const override { return rail_->endpoint(); }
  void connect(int peer, const std::string& endpoint) override { rail_->connect(peer, endpoint); }
  std::unique_ptr<RailMemory> register_memory(const Span& span) override {
    return rail_->register_memory(span);
  }
  std::shared_ptr<const RemoteMemory> import_memory(int peer,
                                                    const std::string& descriptor) override {
    if (bad_ && bad_->fault == RailFault::refuses && imported_++ == bad_->after) {
      throw Unavailable("memory refused on purpose");
    }
    return rail_->import_memory(peer, descriptor);
  }
  void abandon() noexcept override { rail_->abandon(); }
  bool post(const RailPost& post) override {
    if (failed() && bad_->fault == RailFault::cut) return true;
    if (!rail_->post(post)) return false;
    ++posted_;
    return true;
  }
  void poll(std::vector<RailEvent>& events) override {
    if (failed() && bad_->fault == RailFault::broken) throw Error("broken on purpose");
    rail_->poll(events);
    if (!failed()) return;
    const auto arrived = [](const RailEvent& event) { return event.arrived; };
    const auto ended = std::stable_partition(events.begin(), events.end(), arrived);
    if (bad_->fault == RailFault::unheard) events.erase(ended, events.end());
    if (bad_->fault != RailFault::held) return;
    wirings_.held += static_cast<int>(events.end() - ended);
    held_.insert(held_.end(), ended, events.end());
    events.erase(ended, events.end());
    if (!wirings_.tell) return;
    events.insert(events.end(), held_.begin(), held_.end());
    held_.clear();
  }

 private:
  bool failed() const {
    return bad_ && bad_->fault != RailFault::refuses && posted_ >= bad_->after;
  }

  std::unique_ptr<Rail> rail_;
  RailInfo info_;
  std::optional<BadRail> bad_;
  Wirings& wirings_;
  std::vector<RailEvent> held_;
  int posted_ = 0, imported_ = 0;
};

// Three rails of which each is the real library's first one.
class WiredLibrary : public FabricLibrary {
 public:
  WiredLibrary(const FabricLibrary& real, Wirings& wirings) : real_(real), wirings_(wirings) {}
  std::string name() const override { return real_.name(); }
  std::vector<std::string> providers() const override { return real_.providers(); }
  std::vector<RailInfo> rails(const std::string& provider) const override {
    std::vector<RailInfo> rails(3, real_.rails(provider).at(0));
    for (std::size_t i = 0; i < rails.size(); ++i) rails[i].name = "w" + std::to_string(i);
    return rails;
  }
  std::unique_ptr<Rail> open(const std::string& provider, const RailInfo& rail,
                             bool gpu_memory) const override {
    std::optional<BadRail> bad;
    {
      const std::lock_guard<std::mutex> lock(wirings_.mutex);
      const auto found = std::find_if(wirings_.bad.begin(), wirings_.bad.end(),
                                      [&](const BadRail& each) { return each.name == rail.name; });
      if (found != wirings_.bad.end()) {
        bad = *found;
        wirings_.bad.erase(found);
      }
    }
    return std::make_unique<WiredRail>(
        real_.open(provider, real_.rails(provider).at(0), gpu_memory), rail, bad, wirings_);
  }

 private:
  const FabricLibrary& real_;
  Wirings& wirings_;
};

class FailoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = why_no_rails("tcp;ofi_rxm");
    if (!reason.empty()) GTEST_SKIP() << reason;
    real_ = register_fabric(nullptr);
    register_fabric(std::make_unique<WiredLibrary>(*real_, wirings_));
  }
  void TearDown() override {
    if (real_ != nullptr) register_fabric(std::move(real_));
  }

  static NetworkOptions network(bool failover) {
    NetworkOptions network;
    network.provider = "tcp;ofi_rxm";
    network.rails = "w0,w1,w2";
    network.stall_seconds = 2;  // a sound rail must not seem lost where cores are loaded
    network.failover = failover;
    return network;
  }

  // Calls of each kind while these rails fail; returns the warnings of rank 0.
  std::vector<std::string> calls_with(int nodes, CollectiveKind kind, std::uint64_t count,
                                      const std::vector<BadRail>& bad) {
    wirings_.bad = bad;
    std::vector<std::string> warnings;
    on_rails(nodes, network(true), [&](Team& team, CollectiveSession& session) {
      run_calls(team, plans_of(session), collective_of(kind, count), {3});
      const std::vector<std::string> of_all = session.take_warnings();
      EXPECT_TRUE(session.usable());
      // A rank that has left makes the others' sessions unusable.
      team.each([&](Rank&) { team.barrier("all ranks to have looked at their session"); });
      if (team.first_local() == 0) warnings = of_all;
    });
    return warnings;
  }

  Wirings wirings_;
  std::unique_ptr<FabricLibrary> real_;
};

constexpr CollectiveKind kKinds[] = {CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                     CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

// Before the first piece, among pieces, and in a later call.
TEST_F(FailoverTest, ACallGoesOnWithoutARailThatIsCut) {
  const std::pair<CollectiveKind, int> cases[] = {
      {CollectiveKind::all_gather, 0},     {CollectiveKind::all_to_all, 2},
      {CollectiveKind::reduce_scatter, 5}, {CollectiveKind::all_reduce, 0},
      {CollectiveKind::all_reduce, 2},     {CollectiveKind::all_gather, 5}};
  for (const auto& [kind, after] : cases) {
    const auto warnings = calls_with(2, kind, 4 << 20, {{"w1", RailFault::cut, after}});
    ASSERT_EQ(warnings.size(), 1u) << name(kind) << " after " << after;
    EXPECT_NE(warnings[0].find("rail w1"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("to rank"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("the other rails took over"), std::string::npos) << warnings[0];
  }
}

// What has arrived is not sent again: it might overwrite what the receiver does with its memory.
TEST_F(FailoverTest, WhatHasArrivedUnheardCountsOnce) {
  int after = 3;
  for (const CollectiveKind kind : kKinds) {
    after = 3 - after;  // 0 and 3 by turns
    EXPECT_EQ(calls_with(2, kind, 4 << 20, {{"w0", RailFault::unheard, after}}).size(), 1u);
  }
}

TEST_F(FailoverTest, ARailThatReportsAnError) {
  for (const CollectiveKind kind : kKinds) {
    const auto warnings = calls_with(2, kind, 4 << 20, {{"w2", RailFault::broken, 4}});
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("broken on purpose"), std::string::npos) << warnings[0];
  }
}

TEST_F(FailoverTest, TwoRailsOneOfThemTheFirst) {
  for (const CollectiveKind kind : kKinds) {
    const auto warnings =
        calls_with(2, kind, 4 << 20, {{"w0", RailFault::cut, 3}, {"w2", RailFault::unheard, 5}});
    EXPECT_EQ(warnings.size(), 2u);
  }
}

// A rail that one node loses is lost to all of the column.
TEST_F(FailoverTest, ThreeNodes) {
  for (const CollectiveKind kind : kKinds) {
    EXPECT_GE(calls_with(3, kind, 2 << 20, {{"w1", RailFault::cut, 5}}).size(), 1u);
  }
}

// The other rank had made its own part of it. The first import is that of the session.
TEST_F(FailoverTest, APlanThatOneRankCannotMakeLeavesNothingBehind) {
  wirings_.bad = {{"w0", RailFault::refuses, 1}};
  on_rails(2, network(false), [](Team& team, CollectiveSession& session) {
    const Collective c = collective_of(CollectiveKind::all_gather, 1000);
    team.each([&](Rank& rank) {
      const Buffer send = rank.device.allocate(1000), recv = rank.device.allocate(2000);
      EXPECT_THROW(session.plan(rank, c, {send.span(), recv.span()}), Unavailable);
    });
    EXPECT_TRUE(session.usable());
    run_calls(team, plans_of(session), c, {3});
  });
}

TEST_F(FailoverTest, SmallCallsInARow) {
  wirings_.bad = {{"w0", RailFault::cut, 40}};
  on_rails(3, network(true), [](Team& team, CollectiveSession& session) {
    run_calls(team, plans_of(session), collective_of(CollectiveKind::all_gather, 37),
              {60, false, 500, 3});
  });
}

// Otherwise its wire could end before, and whoever is told of the end, or of the rail's loss, would
// be gone.
TEST_F(FailoverTest, ACallEndsWhenItsPermissionToSendIsKnownToHaveCome) {
  NetworkOptions options = network(false);
  options.stall_seconds = 60;
  std::atomic<int> ended{0};
  on_rails(2, options, [&](Team& team, CollectiveSession&) {
    if (team.first_local() == 0) {
      const std::lock_guard<std::mutex> lock(wirings_.mutex);
      wirings_.bad = {{"w0", RailFault::held, 0}};  // where permissions go, at one end
    }
    OwnWires wires(team);
    team.each([&](Rank& rank) {
      NodeRank own = wires.rank_of(rank);
      const Buffer source = rank.device.allocate(8);
      WireTraffic traffic;  // a message without bytes
      traffic.region_bytes = 8;
      traffic.sources = {source.span()};
      traffic.messages.push_back({own.node_after(1), {{source.slice(0, 0), 0}}, false});
      traffic.arrivals.push_back({0});
      const auto wire = wires.make(own, traffic);
      const auto stream = rank.device.make_stream();
      wire->begin(*stream);
      wire->enqueue(*stream, 0);
      stream->handshake({{}, {wire->come(0)}});
      wire->end(*stream);
      for (int i = 0; i < 20000 && wirings_.held == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      ended += stream->idle() ? 1 : 0;
      team.barrier("all ranks to have looked");
      EXPECT_EQ(wirings_.held, 1);
      EXPECT_LE(ended, 1) << "the call has ended at the end where nothing has been told";
      wirings_.tell = true;
      stream->synchronize(60);
      team.barrier("all ranks to have ended");
    });
  });
}

// A rail of a node counts once, however many ranks use it.
TEST_F(FailoverTest, RanksThatUseARailHaveAShareOfItEach) {
  NetworkOptions options = network(false);
  options.link_gbit = 12;
  for (const auto& [ranks, shares] : std::vector<std::pair<int, std::vector<double>>>{
           {1, {36}}, {3, {12, 12, 12}}, {4, {6, 12, 12, 6}}}) {
    const auto look = [shares = shares](Team& team, CollectiveSession& session) {
      team.each([&](Rank& rank) {
        EXPECT_EQ(session.network_gbit_per_s(rank), shares.at(static_cast<std::size_t>(rank.local)))
            << "local rank " << rank.local << " of " << shares.size();
        team.barrier("all ranks to have looked at their rails");
      });
    };
    on_rails(2, options, look, ranks);
  }
}

// Without failover, and where no rail is left: an error that names rail and peer on all ranks.
TEST_F(FailoverTest, AllRanksGetTheErrorOfALostRail) {
  const std::vector<BadRail> all{
      {"w0", RailFault::cut, 1}, {"w1", RailFault::cut, 1}, {"w2", RailFault::cut, 1}};
  for (const bool failover : {false, true}) {
    wirings_.bad = failover ? all : std::vector<BadRail>{all[1]};
    on_rails(2, network(failover), [](Team& team, CollectiveSession& session) {
      try {
        team.each([&](Rank& rank) {
          Calls calls(rank, plans_of(session), collective_of(CollectiveKind::all_gather, 3 << 20),
                      1);
          try {
            calls.enqueue(0);
            calls.wait();  // until the failure ends its waits
            team.barrier("all ranks to have ended, of which one has failed");
          } catch (const Error&) {
            rank.device.finish(60);  // with the call's buffers, which end here
            throw;
          }
        });
        ADD_FAILURE() << "the call went on";
      } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("rail w"), std::string::npos) << text;
        EXPECT_NE(text.find("to rank"), std::string::npos) << text;
      }
      EXPECT_FALSE(session.usable());
    });
  }
}

}  // namespace
}  // namespace duet
