// Indirect rails between two ends in this process: all data arrive, once each, and no operation
// ends before its data have arrived.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "core/packing.h"
#include "device/machine.h"
#include "fabric/bounce/ipc_rail.h"
#include "fabric/bounce/staged_rail.h"
#include "fabric/rail_fixture.h"

namespace duet {
namespace {

// One of two ends that copy within the process. It refuses every fourth post.
class NearRail : public AddressRail {
 public:
  NearRail* other = nullptr;
  std::string error;  // of the next end
  int posted = 0;

  bool post(const RailPost& post) override {
    if (++attempts_ % 4 == 0) return false;
    ++posted;
    if (post.call == RailCall::receive) {
      receives_.push_back(post);
    } else {
      sends_.push_back(post);
    }
    return true;
  }
  void poll(std::vector<RailEvent>& events) override {
    events = std::exchange(events_, {});
    if (!sends_.empty() && start(sends_.front())) sends_.pop_front();
  }

 private:
  void ended(const RailPost& post) { events_.push_back({false, post.id, 0, error}); }

  bool start(const RailPost& post) {
    if (post.call == RailCall::send) return deliver(post);
    auto* remote = reinterpret_cast<std::byte*>(post.remote.base + post.remote_offset);
    const bool reads = post.call == RailCall::read;
    std::memcpy(reads ? post.data : remote, reads ? remote : post.data, post.bytes);
    ended(post);
    return true;
  }

  bool deliver(const RailPost& post) {
    for (auto each = other->receives_.begin(); each != other->receives_.end(); ++each) {
      if (each->tag != post.tag) continue;
      std::memcpy(each->data, post.data, post.bytes);
      other->ended(*each);
      other->receives_.erase(each);
      ended(post);
      return true;
    }
    return false;
  }

  int attempts_ = 0;
  std::deque<RailPost> sends_;
  std::deque<RailPost> receives_;
  std::vector<RailEvent> events_;
};

constexpr std::uint64_t kPieces = 200, kPiece = 1000;

// Occupies all cores of a CPU device: no copy of that device runs while this object lives.
class BusyCores {
 public:
  explicit BusyCores(Device& device) {
    for (int i = 0; i < device.info().compute_units; ++i) {
      streams_.push_back(device.make_stream());
      streams_.back()->run({"busy", {}, [this] {
                              ++begun_;
                              while (!over_) std::this_thread::yield();
                            }});
    }
    while (begun_ < device.info().compute_units) std::this_thread::yield();
  }
  ~BusyCores() { over_ = true; }

 private:
  std::atomic<int> begun_{0};
  std::atomic<bool> over_{false};
  std::vector<std::unique_ptr<Stream>> streams_;  // destroyed first
};

class IndirectRailTest : public testing::TestWithParam<const char*> {
 protected:
  struct End {
    NearRail* near = nullptr;
    std::unique_ptr<Rail> rail;
    Buffer buffer;
    std::unique_ptr<RailMemory> memory;
    std::shared_ptr<const RemoteMemory> theirs;
    std::vector<RailEvent> events;
  };

  void SetUp() override {
    machine_ = open_machine("host");
    machine_->make_shareable();
    Device& device = machine_->device(0);
    for (int index = 0; index < 2; ++index) {
      End& end = ends_[index];
      auto near = std::make_unique<NearRail>();
      end.near = near.get();
      if (GetParam() == std::string("staged")) {
        end.rail = std::make_unique<StagedRail>(std::move(near), device, index,
                                                std::make_shared<BounceBuffers>());
      } else {
        end.rail = std::make_unique<IpcRail>(std::move(near), device, index);
      }
      end.buffer = device.allocate(kPieces * kPiece);
    }
    for (int i = 0; i < 2; ++i) {
      ends_[i].near->other = ends_[1 - i].near;
      ends_[i].rail->connect(1 - i, "");
      ends_[i].memory = ends_[i].rail->register_memory(ends_[i].buffer.span());
    }
    for (int i = 0; i < 2; ++i) {
      ends_[i].theirs = ends_[i].rail->import_memory(1 - i, ends_[1 - i].memory->descriptor());
    }
    fill(0, 1);
    fill(1, 2);
  }

  // Both rails go before any memory: copies may be in flight, also into the other end's memory.
  void TearDown() override {
    for (End& end : ends_) end.rail.reset();
  }

  static Fill pattern(std::uint64_t seed) { return {FillKind::pattern, seed, 0, DType::int8}; }
  void fill(int end, std::uint64_t seed) {
    const auto stream = machine_->device(0).make_stream();
    stream->fill(ends_[end].buffer.span(), pattern(seed));
    stream->synchronize(10);
  }
  bool holds(int end, std::uint64_t piece, std::uint64_t seed) {
    Fill expected = pattern(seed);
    expected.offset = piece * kPiece;
    const Span span = ends_[end].buffer.slice(piece * kPiece, kPiece);
    return !machine_->device(0).check(span, expected).has_value();
  }

  RailPost post_of(int end, RailCall call, std::uint64_t piece) {
    RailPost post;
    post.call = call;
    post.peer = 1 - end;
    post.data = ends_[end].buffer.span().data + piece * kPiece;
    post.bytes = kPiece;
    post.memory = ends_[end].memory.get();
    post.tag = piece;
    post.immediate = static_cast<std::uint32_t>(piece);
    post.remote_offset = piece * kPiece;
    post.remote = *ends_[end].theirs;
    post.id = piece;
    return post;
  }
  void post_all(int end, RailCall call) {
    for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
      const RailPost post = post_of(end, call, piece);
      while (!ends_[end].rail->post(post)) progress();
    }
  }

  void progress() {
    std::vector<RailEvent> events;
    for (End& end : ends_) {
      end.rail->poll(events);
      for (const RailEvent& event : events) {
        if (on_event) on_event(static_cast<int>(&end - ends_), event);
        end.events.push_back(event);
      }
    }
    std::this_thread::yield();
  }
  void progress_until(int end, std::size_t events) {
    const double give_up = steady_now() + 20;
    while (ends_[end].events.size() < events && steady_now() < give_up) progress();
    ASSERT_EQ(ends_[end].events.size(), events);
    std::set<std::uint64_t> ids;
    for (const RailEvent& event : ends_[end].events) {
      ids.insert(event.arrived ? event.immediate : event.id);
    }
    EXPECT_EQ(ids.size(), events);
  }

  std::unique_ptr<Machine> machine_;
  End ends_[2];
  std::function<void(int, const RailEvent&)> on_event;
};

// A forged descriptor may claim to be of this process, with any address.
TEST_P(IndirectRailTest, ADescriptorCannotNameMemoryThatIsNotExported) {
  if (GetParam() == std::string("staged")) return;  // the library's rail checks its own addresses
  MemoryDescriptor forged = machine_->device(0).export_memory(ends_[1].buffer.span());
  forged.segments.at(0).base = reinterpret_cast<std::uintptr_t>(&ends_);
  const std::string descriptor = "+" + pack({"7", forged.text()});
  EXPECT_THROW(ends_[0].rail->import_memory(1, descriptor), Error);
  RailPost beyond = post_of(0, RailCall::write, kPieces - 1);
  beyond.remote_offset += 1;
  EXPECT_THROW(ends_[0].rail->post(beyond), Error);
}

TEST_P(IndirectRailTest, AWriteEndsWhenItsDataAreAtThePeer) {
  on_event = [this](int, const RailEvent& event) { EXPECT_TRUE(holds(1, event.id, 1)); };
  post_all(0, RailCall::write);
  progress_until(0, kPieces);
  EXPECT_TRUE(ends_[1].events.empty());
}

TEST_P(IndirectRailTest, AnImmediateIsReportedAfterItsData) {
  on_event = [this](int end, const RailEvent& event) {
    EXPECT_EQ(event.arrived, end == 1);
    EXPECT_TRUE(!event.arrived || holds(1, event.immediate, 1));
  };
  post_all(0, RailCall::write_imm);
  progress_until(0, kPieces);
  progress_until(1, kPieces);
}

TEST_P(IndirectRailTest, AReadEndsWhenItsDataAreHere) {
  on_event = [this](int, const RailEvent& event) { EXPECT_TRUE(holds(0, event.id, 2)); };
  post_all(0, RailCall::read);
  progress_until(0, kPieces);
}

TEST_P(IndirectRailTest, SendsMatchWaitingReceives) {
  on_event = [this](int end, const RailEvent& event) {
    EXPECT_TRUE(end == 0 || holds(1, event.id, 1));
  };
  post_all(1, RailCall::receive);
  post_all(0, RailCall::send);
  progress_until(0, kPieces);
  progress_until(1, kPieces);
}

TEST_P(IndirectRailTest, SendsWaitForReceives) {
  post_all(0, RailCall::send);
  for (int i = 0; i < 1000; ++i) progress();
  post_all(1, RailCall::receive);
  progress_until(0, kPieces);
  progress_until(1, kPieces);
  for (std::uint64_t piece = 0; piece < kPieces; ++piece) EXPECT_TRUE(holds(1, piece, 1)) << piece;
}

// Every operation waits for its copies: none ends before them, and the data sent are the copied
// ones.
TEST_P(IndirectRailTest, NothingEndsBeforeItsCopies) {
  constexpr std::uint64_t kEach = 4;
  constexpr RailCall kCalls[] = {RailCall::write, RailCall::read, RailCall::send};
  {
    const BusyCores busy(machine_->device(0));
    for (std::uint64_t piece = 0; piece < 3 * kEach; ++piece) {
      const RailCall call = kCalls[piece / kEach];
      if (call == RailCall::send) {
        while (!ends_[1].rail->post(post_of(1, RailCall::receive, piece))) progress();
      }
      while (!ends_[0].rail->post(post_of(0, call, piece))) progress();
    }
    for (int i = 0; i < 1000; ++i) progress();
    EXPECT_TRUE(ends_[0].events.empty() && ends_[1].events.empty());
  }
  progress_until(0, 3 * kEach);
  progress_until(1, kEach);
  for (std::uint64_t piece = 0; piece < 3 * kEach; ++piece) {
    const bool reads = kCalls[piece / kEach] == RailCall::read;
    EXPECT_TRUE(reads ? holds(0, piece, 2) : holds(1, piece, 1)) << piece;
  }
}

TEST_P(IndirectRailTest, BothDirectionsAtOnce) {
  for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
    const int end = static_cast<int>(piece % 2);
    const RailPost post = post_of(end, RailCall::write, piece);
    while (!ends_[end].rail->post(post)) progress();
  }
  progress_until(0, kPieces / 2);
  progress_until(1, kPieces / 2);
  for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
    const std::uint64_t seed = 1 + piece % 2;
    EXPECT_TRUE(holds(0, piece, seed) && holds(1, piece, seed)) << piece;
  }
}

TEST_P(IndirectRailTest, HostMemoryGoesOverTheLibrarysRail) {
  std::vector<std::byte> mine(100, std::byte{7}), yours(100);
  const auto out =
      ends_[0].rail->register_memory({nullptr, mine.data(), 100, MemoryKind::pageable});
  const auto in =
      ends_[1].rail->register_memory({nullptr, yours.data(), 100, MemoryKind::pageable});
  const auto reached = ends_[0].rail->import_memory(1, in->descriptor());
  RailPost post = post_of(0, RailCall::write, 0);
  post.data = mine.data();
  post.bytes = 100;
  post.memory = out.get();
  post.remote = *reached;
  while (!ends_[0].rail->post(post)) progress();
  progress_until(0, 1);
  EXPECT_EQ(yours, mine);
}

TEST_P(IndirectRailTest, AnErrorOfTheLibraryIsTheRails) {
  for (End& end : ends_) end.near->error = "Connection timed out (110)";
  EXPECT_EQ(message_of<Error>([&] {
              post_all(0, RailCall::write_imm);
              for (int i = 0; i < 100000; ++i) progress();
            }),
            "Connection timed out (110)");
}

TEST_P(IndirectRailTest, ARailMayBeDestroyedWithCopiesInFlight) {
  post_all(0, RailCall::write);
  progress();
  for (End& end : ends_) {
    end.rail->abandon();
    end.rail.reset();
  }
  for (End& end : ends_) end.memory.reset();
}

INSTANTIATE_TEST_SUITE_P(Both, IndirectRailTest, testing::Values("staged", "ipc"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace duet
