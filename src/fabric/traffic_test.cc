#include "fabric/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>

#include "core/error.h"
#include "core/message_fixture.h"
#include "fabric/one_sided.h"
#include "fabric/proxy/proxy.h"
#include "fabric/rail_fixture.h"

namespace duet {
namespace {

// How a fake rail treats its posts.
struct Behaviour {
  bool stalls = false;   // nothing ends any more
  bool refuses = false;  // nothing is taken any more
  std::string error;     // of the next end
  int posted = 0;
  std::size_t most = 0;  // in flight at a time
  bool abandoned = false;
  std::set<std::uint64_t> written;     // offsets at the peer, of what ended
  std::deque<std::uint32_t> arrivals;  // one with each poll
};

class FakeRail : public AddressRail {
 public:
  FakeRail(const std::string& name, Behaviour& behaviour)
      : AddressRail(name), behaviour_(behaviour) {}
  void abandon() noexcept override { behaviour_.abandoned = true; }
  bool post(const RailPost& post) override {
    if (behaviour_.refuses) return false;
    ++behaviour_.posted;
    if (post.call == RailCall::receive) return true;  // nobody sends
    under_way_.push_back(post);
    behaviour_.most = std::max(behaviour_.most, under_way_.size());
    return true;
  }
  void poll(std::vector<RailEvent>& events) override {
    events.clear();
    if (behaviour_.stalls) return;
    if (!under_way_.empty()) {
      events.push_back({false, under_way_.front().id, 0, behaviour_.error});
      behaviour_.written.insert(under_way_.front().remote_offset);
      under_way_.pop_front();
    }
    if (behaviour_.arrivals.empty()) return;
    events.push_back({true, 0, behaviour_.arrivals.front(), ""});
    behaviour_.arrivals.pop_front();
  }

 private:
  Behaviour& behaviour_;
  std::deque<RailPost> under_way_;
};

class TrafficTest : public testing::Test {
 protected:
  // So many messages of 1000 bytes in pieces of 100, split over three rails, two at a time.
  void open(bool failover, int messages = 4) {
    make(failover, messages, RailMode::split);
    writes_->start();
  }

  void make(bool failover, int messages, RailMode mode) {
    std::vector<std::unique_ptr<Rail>> open;
    for (std::size_t i = 0; i < 3; ++i) {
      open.push_back(std::make_unique<FakeRail>("r" + std::to_string(i), behaviours_[i]));
    }
    rails_ = std::make_unique<RailSet>(std::move(open), std::vector<std::string>{"r0", "r1", "r2"});
    TrafficOptions options;
    options.stall_seconds = 5;
    options.failover = failover;
    options.now = [this] { return now_; };
    options.peer_name = [](int peer) { return "process " + std::to_string(peer); };
    traffic_ = std::make_unique<Traffic>(*rails_, options);
    memory_.resize(1000 * static_cast<std::size_t>(messages));
    region_ =
        std::make_unique<Region>(*rails_, Span{nullptr, memory_.data(), memory_.size(), {}}, 0);
    region_->import_all({region_->descriptors(), region_->descriptors()});
    load_ = {FabricOperation::write, mode, 1000, 100, 2, {}};
    for (int i = 0; i < messages; ++i) {
      const auto sequence = static_cast<std::uint64_t>(i);
      load_.messages.push_back({1, 1000 * sequence, 1000 * sequence, sequence});
    }
    writes_ = std::make_unique<OneSided>(*traffic_, *rails_, load_, *region_, *region_,
                                         [this] { return now_; });
  }

  // Until all is written, while the clock runs.
  void finish() {
    for (int i = 0; i < 100000 && !writes_->done(); ++i) {
      traffic_->progress();
      now_ += 1e-3;
    }
  }

  std::set<std::uint64_t> written() const {
    std::set<std::uint64_t> all;
    for (const Behaviour& each : behaviours_) all.insert(each.written.begin(), each.written.end());
    return all;
  }

  double now_ = 100;
  Behaviour behaviours_[3];
  std::unique_ptr<RailSet> rails_;
  std::unique_ptr<Traffic> traffic_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Region> region_;
  FabricLoad load_;
  std::unique_ptr<OneSided> writes_;
};

TEST_F(TrafficTest, NoMoreIsUnderWayThanTheWindow) {
  open(false, 12);
  finish();
  ASSERT_TRUE(writes_->done());
  for (const Behaviour& each : behaviours_) EXPECT_EQ(each.most, 2u * 4u);  // pieces
}

struct OwnFifo {
  static constexpr std::size_t kCapacity = 4;
  std::unique_ptr<std::byte, decltype(&std::free)> memory{
      static_cast<std::byte*>(std::aligned_alloc(128, (Fifo::bytes(kCapacity) + 127) / 128 * 128)),
      &std::free};
  Fifo fifo{memory.get(), kCapacity};
};

// Round robin over three rails, the first of which stalls: its message is the first of the order.
TEST_F(TrafficTest, AProxyCompletesCommandsInOrder) {
  make(false, 3, RailMode::round_robin);
  OwnFifo own;
  Fifo& fifo = own.fifo;
  const auto at_once = [] { return false; };
  for (std::uint64_t message = 0; message < 3; ++message) {
    EXPECT_EQ(fifo.push({message, 0}, at_once), message + 1);
  }
  Proxy proxy(fifo, *traffic_, *writes_, 3);
  const auto run = [&] {
    for (int i = 0; i < 100; ++i) {
      proxy.progress();
      traffic_->progress();
    }
  };
  behaviours_[0].stalls = true;
  run();
  EXPECT_EQ(writes_->ends().size(), 2u);
  EXPECT_FALSE(fifo.quiet(1, at_once));
  behaviours_[0].stalls = false;
  run();
  EXPECT_TRUE(fifo.quiet(3, at_once));
}

TEST_F(TrafficTest, AProxyTakesNoMoreCommandsThanItsDepth) {
  make(false, 3, RailMode::round_robin);
  OwnFifo own;
  Fifo& fifo = own.fifo;
  for (std::uint64_t message = 0; message < 3; ++message) {
    fifo.push({message, 0}, [] { return false; });
  }
  Proxy proxy(fifo, *traffic_, *writes_, 2);
  for (Behaviour& each : behaviours_) each.stalls = true;
  for (int i = 0; i < 10; ++i) proxy.progress();
  EXPECT_GT(behaviours_[1].posted, 0);
  EXPECT_EQ(behaviours_[2].posted, 0);
}

class NoSender : public Sender {
 public:
  void ended(std::uint64_t) override {}
  bool lost(int, const std::vector<std::uint64_t>&) override { return false; }
};

TEST_F(TrafficTest, ARailHas256PostsAtATime) {
  make(false, 1, RailMode::split);
  NoSender sender;
  for (std::uint64_t i = 0; i < 300; ++i) traffic_->queue(0, {}, sender, i, true);
  traffic_->post();
  EXPECT_EQ(behaviours_[0].posted, 256);
  for (int i = 0; i < 300; ++i) traffic_->progress();
  EXPECT_EQ(behaviours_[0].posted, 300);
  EXPECT_EQ(behaviours_[0].most, 256u);
}

TEST_F(TrafficTest, EveryPieceIsWrittenAndEveryMessageTimed) {
  open(false);
  finish();
  ASSERT_TRUE(writes_->done());
  EXPECT_EQ(writes_->latencies().size(), 4u);
  EXPECT_EQ(written().size(), 4u * 12u);  // rails of 320, 320 and 360 bytes: 4 pieces each
  rails_->close();
  for (const Behaviour& each : behaviours_) {
    EXPECT_EQ(each.posted, 16);
    EXPECT_FALSE(each.abandoned);
  }
}

TEST_F(TrafficTest, AStalledRailIsNamedWithItsPeer) {
  open(false);
  behaviours_[1].stalls = true;
  const std::string message = message_of<Timeout>([&] { finish(); });
  EXPECT_TRUE(contains(message, "rail r1 to process 1: nothing has ended for"));
  EXPECT_FALSE(rails_->living(1));
  EXPECT_TRUE(behaviours_[1].abandoned);
}

TEST_F(TrafficTest, ARailThatTakesNothingIsStalledToo) {
  behaviours_[2].refuses = true;
  open(false);
  const std::string message = message_of<Timeout>([&] { finish(); });
  EXPECT_TRUE(contains(message, "rail r2 to process 1"));
}

// It looks every 256 calls: every 4 s of the 5 in which something has to end.
TEST_F(TrafficTest, ARailThatGoesOnIsNotStalled) {
  open(false, 300);
  for (int i = 0; i < 100000 && !writes_->done(); ++i) {
    traffic_->progress();
    now_ += 4.0 / 256;
  }
  EXPECT_TRUE(writes_->done());
  EXPECT_GT(now_, 100 + 3 * 4);
}

// 125 MB may take 10 s more.
TEST_F(TrafficTest, ALargePostMayTakeLonger) {
  make(false, 1, RailMode::split);
  NoSender sender;
  RailPost post;
  post.bytes = 125'000'000;
  behaviours_[0].stalls = true;
  traffic_->queue(0, post, sender, 0, true);
  const auto look = [this] {
    for (int i = 0; i < 256; ++i) traffic_->progress();
  };
  look();
  now_ += 14;
  EXPECT_NO_THROW(look());
  now_ += 2;
  EXPECT_THROW(look(), Timeout);
}

TEST_F(TrafficTest, ARailWithoutWorkIsNotStalled) {
  open(false);
  finish();
  behaviours_[0].stalls = true;
  now_ += 1000;
  for (int i = 0; i < 1000; ++i) traffic_->progress();
  EXPECT_TRUE(rails_->living(0));
}

TEST_F(TrafficTest, FailoverFinishesOnTheOtherRails) {
  open(true, 20);
  for (int i = 0; i < 3; ++i) traffic_->progress();
  behaviours_[0].stalls = true;
  finish();
  ASSERT_TRUE(writes_->done());
  for (std::uint64_t message = 0; message < 20; ++message) {
    EXPECT_EQ(written().count(1000 * message), 1u) << "the first bytes of message " << message;
  }
  EXPECT_EQ(rails_->all_living(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(behaviours_[0].abandoned);  // its peer may still write
  EXPECT_FALSE(behaviours_[1].abandoned);
  ASSERT_EQ(traffic_->losses().size(), 1u);
  EXPECT_TRUE(contains(traffic_->losses().at(0), "rail r0"));
}

// Its sender knows that it has arrived.
TEST_F(TrafficTest, WhatHasArrivedCountsThoughTheRailIsLost) {
  open(true);
  std::vector<std::uint32_t> arrived;
  traffic_->on_arrival = [&](std::uint32_t immediate) { arrived.push_back(immediate); };
  behaviours_[1].error = "Connection timed out (110)";
  behaviours_[1].arrivals = {7, 8, 9};
  finish();
  EXPECT_TRUE(writes_->done());
  EXPECT_FALSE(rails_->living(1));
  EXPECT_EQ(arrived, (std::vector<std::uint32_t>{7, 8, 9}));
}

// Receives end by what others do.
TEST_F(TrafficTest, ReceivesThatWaitHoldUpNothingElse) {
  open(false);
  RailPost receive;
  receive.call = RailCall::receive;
  for (std::uint64_t i = 0; i < 1000; ++i) traffic_->queue(0, receive, *writes_, i, false);
  finish();
  EXPECT_TRUE(writes_->done());
  // Control posts are not held up by data either.
  const int posted = behaviours_[0].posted;
  traffic_->queue_control(0, receive, *writes_, 0);
  traffic_->progress();
  EXPECT_EQ(behaviours_[0].posted, posted + 1);
}

TEST_F(TrafficTest, AnErrorOfTheLibraryIsTheRails) {
  open(false);
  behaviours_[1].error = "Connection timed out (110)";
  const std::string message = message_of<Error>([&] { finish(); });
  EXPECT_TRUE(contains(message, "rail r1 to process 1: Connection timed out (110)"));
}

// A sender that cannot use other rails, like TwoSided.
class Bound : public Sender {
 public:
  void ended(std::uint64_t) override {}
  bool lost(int, const std::vector<std::uint64_t>&) override { return false; }
};

TEST_F(TrafficTest, FailoverSaysWhatItCannotHelp) {
  open(true);
  Bound bound;
  RailPost send;
  send.call = RailCall::send;
  send.peer = 1;
  traffic_->queue(0, send, bound, 0, true);
  behaviours_[0].stalls = true;
  const std::string text = message_of<Timeout>([&] { finish(); });
  EXPECT_TRUE(contains(text, "what it carried cannot go over other rails"));
}

TEST_F(TrafficTest, FailoverEndsWithTheLastRail) {
  open(true);
  for (Behaviour& each : behaviours_) each.stalls = true;
  EXPECT_THROW(finish(), Timeout);
  EXPECT_FALSE(writes_->done());
  EXPECT_TRUE(rails_->all_living().empty());
}

}  // namespace
}  // namespace duet
