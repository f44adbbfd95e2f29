#include "communicator/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "collectives/engine.h"
#include "core/error.h"
#include "device/machine.h"

namespace duet {
namespace {

constexpr double kDeadline = 30;

Collective of(CollectiveKind kind, std::uint64_t count) {
  Collective one;
  one.kind = kind;
  one.dtype = DType::int32;
  one.count = count;
  return one;
}

std::vector<std::int32_t> contents(LocalRank& rank, const Span& span) {
  std::vector<std::int32_t> values(span.bytes / sizeof(std::int32_t));
  rank.device().read(span, values.data());
  return values;
}

void put(LocalRank& rank, const Span& span, std::int32_t value) {
  const std::vector<std::int32_t> values(span.bytes / sizeof value, value);
  rank.device().write(span, values.data());
}

class EveryEngine : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

// The second call takes what the first leaves, on the same stream and without waiting in between.
TEST_P(EveryEngine, CallsFollowOnEachOther) {
  const auto [engine, device] = GetParam();
  Communicator communicator({device, engine});
  EXPECT_EQ(communicator.size(), communicator.local_size());
  communicator.each([](LocalRank& rank) {
    constexpr std::uint64_t kCount = 1000;
    const auto n = static_cast<std::uint64_t>(rank.size());
    const auto own = rank.allocate(kCount * 4), all = rank.allocate(n * kCount * 4),
               back = rank.allocate(n * kCount * 4);
    CollectiveCall gather =
        rank.plan(of(CollectiveKind::all_gather, kCount), own->span(), all->span());
    CollectiveCall exchange =
        rank.plan(of(CollectiveKind::all_to_all, kCount), all->span(), back->span());
    EXPECT_FALSE(gather.algorithm().empty());
    const auto stream = rank.device().make_stream();
    for (int repeat = 0; repeat < 3; ++repeat) {
      put(rank, own->span(), rank.index() + 10 * repeat);
      put(rank, back->span(), -1);
      rank.barrier("all ranks to have filled their buffers", kDeadline);
      gather.enqueue(*stream);
      exchange.enqueue(*stream);
      stream->synchronize(kDeadline);
      // Chunk `index` of everyone's `all` is what rank `index` sent.
      const std::vector<std::int32_t> expected(n * kCount, rank.index() + 10 * repeat);
      EXPECT_EQ(contents(rank, back->span()), expected);
      rank.barrier("all ranks to have looked", kDeadline);
    }
    rank.retire(std::move(exchange));
    rank.retire(std::move(gather));
  });
}

// Equal values, whose root mean square they are: the result is the weight.
TEST_P(EveryEngine, SumsAreNormalised) {
  const auto [engine, device] = GetParam();
  Communicator communicator({device, engine});
  communicator.each([](LocalRank& rank) {
    constexpr std::uint64_t kColumns = 64, kCount = 3 * kColumns;
    const auto filled = [&](std::uint64_t count, float value) {
      Buffer buffer = rank.device().allocate(count * sizeof value);
      const std::vector<float> values(count, value);
      rank.device().write(buffer.span(), values.data());
      return buffer;
    };
    const auto values = [&](const Buffer& buffer) {
      std::vector<float> all(buffer.span().bytes / sizeof(float));
      rank.device().read(buffer.span(), all.data());
      return all;
    };
    const Buffer part = filled(kCount, 1), normed = filled(kCount, -1),
                 residual = filled(kCount, 3), updated = filled(kCount, -1),
                 weight = filled(kColumns, 0.5F);
    Collective collective = of(CollectiveKind::all_reduce, kCount);
    collective.dtype = DType::fp32;
    collective.norm = {kColumns, 0};
    CollectiveBuffers buffers{part.span(), normed.span(), residual.span(), updated.span(),
                              weight.span()};
    CollectiveCall call = rank.plan(collective, buffers);
    const auto stream = rank.device().make_stream();
    call.enqueue(*stream);
    stream->synchronize(kDeadline);
    EXPECT_EQ(values(updated), std::vector<float>(kCount, 3.0F + static_cast<float>(rank.size())));
    for (const float value : values(normed)) EXPECT_FLOAT_EQ(value, 0.5F);
    rank.retire(std::move(call));
    buffers.weight = updated.slice(0, kColumns * sizeof(float));
    EXPECT_THROW(rank.plan(collective, buffers), BadArgument);
    buffers.weight = {};
    EXPECT_THROW(rank.plan(collective, buffers), BadArgument);
    buffers.weight = weight.span();
    collective.norm.columns = 60;  // no whole rows
    EXPECT_THROW(rank.plan(collective, buffers), BadArgument);
    collective.norm.columns = kColumns;
    collective.kind = CollectiveKind::all_gather;
    EXPECT_THROW(rank.plan(collective, buffers), BadArgument);
  });
}

INSTANTIATE_TEST_SUITE_P(Communicator, EveryEngine,
                         ::testing::Values(std::pair{"auto", "host:3"}, std::pair{"dma", "host:2"},
                                           std::pair{"kernel", "host:2"},
                                           std::pair{"auto", "host:1"},
                                           std::pair{"auto", "sim:h200-4"},
                                           std::pair{"auto", "sim:p5-48xlarge:devices=2:nodes=3"}));

TEST(Communicator, TakesConsecutiveRanksForANode) {
  CommunicatorOptions options;
  options.device = "host:4";
  options.node_size = 2;
  Communicator communicator(options);
  communicator.each([](LocalRank& rank) {
    constexpr std::uint64_t kCount = 1000;
    const auto own = rank.allocate(kCount * 4), sum = rank.allocate(kCount * 4);
    CollectiveCall call =
        rank.plan(of(CollectiveKind::all_reduce, kCount), own->span(), sum->span());
    EXPECT_NE(call.algorithm().find("between nodes"), std::string::npos) << call.algorithm();
    const auto stream = rank.device().make_stream();
    put(rank, own->span(), rank.index() + 1);
    rank.barrier("all ranks to have filled their buffers", kDeadline);
    call.enqueue(*stream);
    stream->synchronize(kDeadline);
    EXPECT_EQ(contents(rank, sum->span()), std::vector<std::int32_t>(kCount, 1 + 2 + 3 + 4));
    rank.barrier("all ranks to have looked", kDeadline);
    rank.retire(std::move(call));
  });
}

// Rows and columns of four ranks, whose calls are under way at the same time.
TEST(Communicator, GroupsReduceAmongThemselves) {
  for (const char* device : {"host:4", "sim:h200-4", "sim:p5-48xlarge:devices=2:nodes=2"}) {
    for (const char* engine : {"dma", "kernel"}) {
      Communicator communicator({device, engine});
      const RankGroups rows = communicator.divide({{0, 1}, {2, 3}});
      const RankGroups columns = communicator.divide({{0, 2}, {1, 3}});
      communicator.each([&](LocalRank& rank) {
        constexpr std::uint64_t kCount = 1000;
        LocalRank in_row = rows.of(rank), in_column = columns.of(rank);
        EXPECT_EQ(in_row.index(), rank.index() % 2);
        EXPECT_EQ(in_column.index(), rank.index() / 2);
        EXPECT_EQ(in_row.size(), 2);
        const auto own = rank.allocate(kCount * 4), row = in_row.allocate(kCount * 4),
                   column = in_column.allocate(kCount * 4);
        Collective sum = of(CollectiveKind::all_reduce, kCount);
        sum.op = Reduction::sum;
        CollectiveCall of_row = in_row.plan(sum, own->span(), row->span());
        CollectiveCall of_column = in_column.plan(sum, own->span(), column->span());
        const auto one = rank.device().make_stream(), other = rank.device().make_stream();
        put(rank, own->span(), 1 << rank.index());
        for (int repeat = 0; repeat < 3; ++repeat) {
          of_row.enqueue(*one);
          of_column.enqueue(*other);
        }
        one->synchronize(kDeadline);
        other->synchronize(kDeadline);
        EXPECT_EQ(contents(rank, row->span()).back(), rank.index() < 2 ? 3 : 12);
        EXPECT_EQ(contents(rank, column->span()).back(), rank.index() % 2 == 0 ? 5 : 10);
        in_column.retire(std::move(of_column));
        in_row.retire(std::move(of_row));
      });
    }
  }
}

TEST(Communicator, RefusesGroupsThatDivideNothing) {
  Communicator communicator({"host:4", "dma"});
  using Groups = std::vector<std::vector<int>>;
  for (const Groups& wrong : {Groups{{0, 1}, {2}}, Groups{{0, 1}, {1, 2}}, Groups{{1, 0}, {2, 3}},
                              Groups{{0, 1, 2}, {3}}, Groups{{0, 1}, {2, 4}}, Groups{}}) {
    EXPECT_THROW(communicator.divide(wrong), BadArgument);
  }
  EXPECT_THROW(Communicator({"host:4", "host"}).divide({{0, 1}, {2, 3}}), Unavailable);
}

// All ranks are told, as of a call of all.
// From another thread, while all ranks wait for each other again and again.
TEST(Communicator, FailsFromOutside) {
  for (const char* device : {"host:3", "sim:h200-4"}) {
    SCOPED_TRACE(device);
    Communicator communicator({device});
    std::atomic<bool> begun{false};
    std::thread other([&] {
      while (!begun) std::this_thread::yield();
      communicator.fail(0, "on purpose");
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto meet = [&](LocalRank& rank) {
      while (std::chrono::steady_clock::now() < end) {
        rank.barrier("the others");
        begun = true;
      }
    };
    EXPECT_THROW(communicator.each(meet), PeerFailed);
    EXPECT_NE(communicator.failure().find("on purpose"), std::string::npos);
    other.join();
    communicator.each([](LocalRank& rank) { rank.barrier("all again"); });
  }
}

TEST(Communicator, ARankThatFailsInAGroupFailsTheOthers) {
  Communicator communicator({"host:4", "dma"});
  const RankGroups rows = communicator.divide({{0, 1}, {2, 3}});
  std::atomic<int> told{0};
  const auto fails = [&](LocalRank& rank) {
    LocalRank in_row = rows.of(rank);
    const auto own = rank.allocate(4096), all = rank.allocate(8192);
    CollectiveCall call =
        in_row.plan(of(CollectiveKind::all_gather, 1024), own->span(), all->span());
    if (rank.index() == 3) throw Error("lost");
    try {
      const auto stream = rank.device().make_stream();
      if (rank.index() == 2) call.enqueue(*stream);
      stream->synchronize(kDeadline);
      in_row.barrier("rank 3", kDeadline);
    } catch (const Error&) {
      ++told;
      throw;
    }
  };
  EXPECT_THROW(communicator.each(fails), Error);
  EXPECT_EQ(told, 3);
}

TEST(Communicator, ReducesMemoryOfTheUsers) {
  Communicator communicator({"host:3"});
  communicator.each([](LocalRank& rank) {
    std::vector<std::int32_t> send(100, rank.index() + 1), recv(100, -1);
    CollectiveCall sum = rank.plan(of(CollectiveKind::all_reduce, 100), send.data(), recv.data());
    const auto stream = rank.device().make_stream();
    sum.enqueue(*stream);
    stream->synchronize(kDeadline);
    EXPECT_EQ(recv, std::vector<std::int32_t>(100, 6));
    rank.retire(std::move(sum));
  });
}

// A rank without a buffer gives nullptr.
TEST(Communicator, RootsAloneHaveSomeBuffers) {
  Communicator communicator({"host:3"});
  communicator.each([](LocalRank& rank) {
    std::vector<std::int32_t> send(10, rank.index()), recv(30, -1);
    Collective gather = of(CollectiveKind::gather, 10);
    gather.root = 1;
    const bool root = rank.index() == gather.root;
    CollectiveCall call = rank.plan(gather, send.data(), root ? recv.data() : nullptr);
    const auto stream = rank.device().make_stream();
    call.enqueue(*stream);
    stream->synchronize(kDeadline);
    if (root) {
      EXPECT_EQ(std::accumulate(recv.begin(), recv.end(), 0), 30);
    }
    rank.retire(std::move(call));
  });
}

// Calls may be enqueued outside of each(), as a training loop does it.
TEST(Communicator, CallsAreKeptBetweenEach) {
  Communicator communicator({"host:2"});
  std::vector<std::vector<std::int32_t>> buffers(2, std::vector<std::int32_t>(10, 7));
  std::vector<std::unique_ptr<Stream>> streams(2);
  std::vector<CollectiveCall> calls(2);
  communicator.each([&](LocalRank& rank) {
    const auto local = static_cast<std::size_t>(rank.local());
    std::int32_t* data = buffers[local].data();
    calls[local] = rank.plan(of(CollectiveKind::all_reduce, 10), data, data);
    streams[local] = rank.device().make_stream();
  });
  for (std::size_t rank = 0; rank < 2; ++rank) calls[rank].enqueue(*streams[rank]);
  for (const auto& stream : streams) stream->synchronize(kDeadline);
  EXPECT_EQ(buffers[0], std::vector<std::int32_t>(10, 14));
  EXPECT_EQ(buffers[1], buffers[0]);
  communicator.each([&](LocalRank& rank) {
    rank.retire(std::move(calls[static_cast<std::size_t>(rank.local())]));
  });
}

template <typename Error>
void refuses(const std::function<void()>& call, const std::string& text) {
  try {
    call();
    FAIL() << "expected: " << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

// An engine whose plans do nothing, and count their ends.
class CountingEngine : public CollectiveEngine {
 public:
  explicit CountingEngine(std::atomic<int>& ended) : ended_(ended) {}
  std::string name() const override { return "counting"; }
  std::string device_kind() const override { return "host"; }
  std::unique_ptr<CollectiveSession> open(Team&) override {
    return std::make_unique<Session>(ended_);
  }

 private:
  class Plan : public CollectivePlan {
   public:
    explicit Plan(std::atomic<int>& ended) : ended_(ended) {}
    ~Plan() override { ++ended_; }
    void enqueue(Stream&) override {}
    std::string algorithm() const override { return ""; }

   private:
    std::atomic<int>& ended_;
  };
  class Session : public CollectiveSession {
   public:
    explicit Session(std::atomic<int>& ended) : ended_(ended) {}
    std::optional<Skipped> unsupported(const Collective&, bool) const override { return {}; }

   protected:
    std::unique_ptr<CollectivePlan> make_plan(Rank&, const Collective&, const CollectiveBuffers&,
                                              const std::vector<std::string>&) override {
      return std::make_unique<Plan>(ended_);
    }

   private:
    std::atomic<int>& ended_;
  };

  std::atomic<int>& ended_;
};

// A peer's work may still use what a plan has, such as a library's windows.
TEST(Communicator, ACallIsRetiredWhenAllRanksAreDoneWithIt) {
  static std::atomic<int> ended;  // the engine stays registered
  static const bool registered = [] {
    register_collective_engine(std::make_unique<CountingEngine>(ended));
    return true;
  }();
  ASSERT_TRUE(registered);
  ended = 0;
  Communicator communicator({"host:2", "counting"});
  communicator.each([&](LocalRank& rank) {
    const auto memory = rank.allocate(40);
    auto call = rank.plan(of(CollectiveKind::all_reduce, 10), memory->span(), memory->span());
    if (rank.index() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      EXPECT_EQ(ended, 0);
    }
    rank.retire(std::move(call));
  });
  EXPECT_EQ(ended, 2);
}

class AfterAnError : public ::testing::TestWithParam<const char*> {};

// The other ranks' streams wait for rank 1 and are released; the next each() is as if nothing had
// been.
TEST_P(AfterAnError, OthersCanBePlanned) {
  Communicator communicator({"host:3", GetParam()});
  const Collective sum = of(CollectiveKind::all_reduce, 1000);
  std::vector<std::unique_ptr<CollectiveMemory>> memory(3);
  std::vector<CollectiveCall> calls(3);
  std::vector<std::unique_ptr<Stream>> streams(3);
  const auto add_up = [&](LocalRank& rank, bool fails) {
    const auto local = static_cast<std::size_t>(rank.local());
    streams[local] = rank.device().make_stream();
    auto next = rank.allocate(4000);
    calls[local] = rank.plan(sum, next->span(), next->span());
    memory[local] = std::move(next);
    put(rank, memory[local]->span(), rank.index() + 1);
    if (fails && rank.index() == 1) throw Mismatch("rank 1 fails on purpose");
    calls[local].enqueue(*streams[local]);
    streams[local]->synchronize(kDeadline);
    if (fails) return;
    EXPECT_EQ(contents(rank, memory[local]->span()), std::vector<std::int32_t>(1000, 6));
    rank.barrier("all ranks to have looked", kDeadline);
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_THROW(communicator.each([&](LocalRank& rank) { add_up(rank, true); }), Mismatch);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_THROW(calls[i].enqueue(*streams[i]), PeerFailed);
    communicator.each([&](LocalRank& rank) { add_up(rank, false); });
  }
}

// Rank 1 plans, and destroys its call and its buffer when the others have enqueued theirs. In
// place, so that an engine may have copied the buffers aside.
TEST_P(AfterAnError, NobodyWaitsForARankThatHasDestroyedItsCall) {
  Communicator communicator({"host:3", GetParam()});
  std::atomic<int> enqueued{0};
  const auto run = [&](LocalRank& rank) {
    const auto stream = rank.device().make_stream();
    const auto memory = rank.allocate(4000);
    CollectiveCall call =
        rank.plan(of(CollectiveKind::all_reduce, 1000), memory->span(), memory->span());
    if (rank.index() == 1) {
      for (int i = 0; i < 30000 && enqueued < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      throw Mismatch("rank 1 fails on purpose");
    }
    call.enqueue(*stream);
    ++enqueued;
    EXPECT_NO_THROW(stream->synchronize(kDeadline));
  };
  EXPECT_THROW(communicator.each(run), Mismatch);
  EXPECT_EQ(enqueued, 2);
}

TEST(Communicator, JoinsRowsOfAGatherAlone) {
  Collective rows = of(CollectiveKind::all_gather, 512);
  rows.rows.columns = 4;
  rows.rows.joined = true;
  EXPECT_NO_THROW(check(rows, 2));
  rows.kind = CollectiveKind::reduce_scatter;
  EXPECT_THROW(check(rows, 2), BadArgument);
}

// The function of rank 1 throws, and rank 1 goes on: the others wait for what it has not made,
// until they hear of it. What it throws need not be an exception of the library's.
TEST_P(AfterAnError, NobodyWaitsForRowsThatWereNotMultiplied) {
  Communicator communicator({"host:3", GetParam()});
  Collective sums = of(CollectiveKind::reduce_scatter, 512);
  sums.rows.columns = 4;
  sums.rows.ranges = 2;
  std::vector<std::unique_ptr<CollectiveMemory>> memory(3), results(3);
  std::vector<CollectiveCall> calls(3);
  std::atomic<int> enqueued{0};
  const auto run = [&](LocalRank& rank) {
    const auto local = static_cast<std::size_t>(rank.local());
    memory[local] = rank.allocate(3 * 2048);
    results[local] = rank.allocate(2048);
    calls[local] = rank.plan(sums, memory[local]->span(), results[local]->span());
    const auto stream = rank.device().make_stream();
    std::uint64_t rows = 0;
    const auto multiply = [&](Stream&, const CallRows& part) {
      rows += part.rows.count;
      if (rank.index() == 1) throw 7;
    };
    if (rank.index() == 1) {
      for (int i = 0; i < 30000 && enqueued < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_THROW(calls[local].enqueue_rows(*stream, multiply), int);
    } else {
      EXPECT_NO_THROW(calls[local].enqueue_rows(*stream, multiply));
      EXPECT_EQ(rows, 3u * 128);
      ++enqueued;
    }
    EXPECT_NO_THROW(stream->synchronize(kDeadline));
  };
  communicator.each(run);
  EXPECT_EQ(enqueued, 2);
}

INSTANTIATE_TEST_SUITE_P(Communicator, AfterAnError,
                         ::testing::Values("auto", "dma", "kernel", "host"));

// Rank 1 has planned and throws. Its buffers are destroyed before anybody knows, and rank 0 still
// pushes into them.
TEST(Communicator, BuffersOfAnEndingRankLiveAsLongAsPeersWrite) {
  struct Last {
    std::function<void()> end;
    ~Last() {
      if (end) end();
    }
  };
  const auto wait_for = [](const std::atomic<bool>& flag) {
    for (int i = 0; i < 30000 && !flag; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  Communicator communicator({"host:2", "dma"});
  std::atomic<bool> ended{false}, enqueued{false};
  const auto run = [&](LocalRank& rank) {
    Last last;
    if (rank.index() == 1) {
      last.end = [&] {
        ended = true;
        wait_for(enqueued);
      };
    }
    Collective collective;
    collective.dtype = DType::fp32;
    collective.count = 1 << 20;
    const auto send = rank.allocate(send_bytes(collective, rank.index(), 2));
    const auto recv = rank.allocate(recv_bytes(collective, rank.index(), 2));
    const auto stream = rank.device().make_stream();
    auto call = rank.plan(collective, send->span(), recv->span());
    if (rank.index() == 1) throw Mismatch("rank 1 has ended");
    wait_for(ended);
    call.enqueue(*stream);
    enqueued = true;
    EXPECT_THROW(rank.barrier("rank 1, which has ended"), PeerFailed);
    stream->synchronize(60);
  };
  EXPECT_EQ(communicator.failure(), "");
  EXPECT_THROW(communicator.each(run), Mismatch);
  EXPECT_EQ(communicator.failure(), "rank 1: rank 1 has ended");
  communicator.each([](LocalRank& rank) { rank.barrier(); });
  EXPECT_EQ(communicator.failure(), "");
}

TEST(Communicator, RefusesWhatIsNotThere) {
  refuses<UsageError>(
      [] {
        Communicator({"host:2", "warp"});
      },
      "unknown collective engine 'warp': host:2 has dma, kernel, auto");
  refuses<UsageError>([] { Communicator({"abacus"}); }, "abacus");
}

TEST(Communicator, RefusesNativeStreamsWhereThereAreNone) {
  for (const char* device : {"host:2", "sim:h200-4"}) {
    Communicator communicator({device});
    const auto run = [&](const std::function<void(LocalRank&, CollectiveCall&)>& misuse) {
      communicator.each([&](LocalRank& rank) {
        const auto buffer = rank.allocate(40);
        CollectiveCall call =
            rank.plan(of(CollectiveKind::all_reduce, 10), buffer->span(), buffer->span());
        misuse(rank, call);
      });
    };
    EXPECT_THROW(run([](LocalRank& rank, CollectiveCall&) { rank.device().wrap(nullptr); }),
                 Unavailable);
    EXPECT_THROW(run([](LocalRank&, CollectiveCall& call) { call.enqueue(nullptr); }), Unavailable);
  }
}

TEST(Communicator, RefusesBuffersThatDoNotFit) {
  Communicator communicator({"host:2", "auto"});
  const auto plan = [&](const Collective& one, std::uint64_t sent, std::uint64_t received) {
    communicator.each([&](LocalRank& rank) {
      const auto send = rank.allocate(sent), recv = rank.allocate(received);
      rank.plan(one, send->span(), recv->span());
    });
  };
  refuses<BadArgument>([&] { plan(of(CollectiveKind::all_gather, 10), 40, 79); },
                       "expected 80 bytes of host:");
  refuses<BadArgument>([&] { plan(of(CollectiveKind::all_gather, 10), 36, 80); },
                       "expected 40 bytes of host:");
  Collective rootless = of(CollectiveKind::broadcast, 10);
  rootless.root = 2;
  EXPECT_THROW(plan(rootless, 40, 40), BadArgument);
  EXPECT_THROW(plan(of(CollectiveKind::all_to_all_v, 0), 40, 40),
               BadArgument);  // counts are missing
  EXPECT_NO_THROW(
      plan(of(CollectiveKind::all_gather, 10), 40, 80));  // the communicator is as it was
}

TEST(Communicator, RefusesOverlapAndDifferentSizes) {
  Communicator communicator({"host:2", "kernel"});
  const auto plan = [&](const std::function<Collective(LocalRank&)>& one) {
    communicator.each([&](LocalRank& rank) {
      std::vector<std::int32_t> buffer(100);
      rank.plan(one(rank), buffer.data(), buffer.data());
    });
  };
  refuses<BadArgument>([&] { plan([](LocalRank&) { return of(CollectiveKind::send_recv, 10); }); },
                       "do not overlap");
  EXPECT_THROW(plan([](LocalRank&) { return of(CollectiveKind::all_to_all, 10); }), Unavailable);
  refuses<BadArgument>(
      [&] {
        plan([](LocalRank& rank) {
          return of(CollectiveKind::broadcast, static_cast<std::uint64_t>(10 + rank.index()));
        });
      },
      "ranks ask for different things");
}

TEST(Communicator, SwapsAWholeBufferInPlaceAndNoPartOfIt) {
  Communicator communicator({"host:2", "dma"});
  communicator.each([](LocalRank& rank) {
    std::vector<std::int32_t> buffer(2, rank.index());
    CollectiveCall call =
        rank.plan(of(CollectiveKind::all_to_all, 1), buffer.data(), buffer.data());
    const auto stream = rank.device().make_stream();
    call.enqueue(*stream);
    stream->synchronize(20);
    EXPECT_EQ(buffer, (std::vector<std::int32_t>{0, 1}));
    rank.retire(std::move(call));
  });
  refuses<BadArgument>(
      [&] {
        communicator.each([](LocalRank& rank) {
          std::vector<std::int32_t> buffer(3);
          rank.plan(of(CollectiveKind::all_to_all, 1), buffer.data(), buffer.data() + 1);
        });
      },
      "in place, the send buffer at byte 0 of the receive buffer, not at -4");
}

// Where rank 1 has its buffers in one allocation, the receive buffer so many elements behind the
// send buffer. 2 ranks, chunks of 2 elements, root 1.
struct Placing {
  int shift = 0;
  bool overlaps = false;
  bool in_place = false;  // as collective.h says
};

Placing placing(const Collective& one, int shift) {
  const int sent = static_cast<int>(send_bytes(one, 1, 2) / 4);
  const int received = static_cast<int>(recv_bytes(one, 1, 2) / 4);
  const int chunk = static_cast<int>(in_place_offset(one, 1) / 4);
  const bool in_send =
      one.kind == CollectiveKind::reduce_scatter || one.kind == CollectiveKind::scatter;
  return {shift, shift < sent && -shift < received,
          has_in_place(one.kind) && shift == (in_send ? chunk : -chunk)};
}

// Nobody is left in a call that another was refused: the same ranks plan again and again.
class Placings : public ::testing::TestWithParam<const char*> {};

TEST_P(Placings, OverlapIsInPlaceOrRefusedOnAllRanks) {
  constexpr int kMost = 4;  // elements of a buffer
  Communicator communicator({"host:2", GetParam()});
  communicator.each([&](LocalRank& rank) {
    std::vector<std::int32_t> memory(3 * kMost), apart(kMost);
    for (const CollectiveKind kind : all_collectives()) {
      Collective one = of(kind, 2);
      one.root = 1;
      if (kind == CollectiveKind::all_to_all_v) one.counts = {1, 2, 2, 1};
      for (int shift = -kMost; shift <= kMost; ++shift) {
        const Placing own = placing(one, shift);
        std::int32_t *send = memory.data() + kMost, *recv = send + shift;
        if (rank.index() == 0) recv = apart.data();
        const auto plan = [&] { rank.plan(one, send, recv); };
        SCOPED_TRACE(std::string(name(kind)) + " " + std::to_string(shift));
        if (own.overlaps && !own.in_place) {
          EXPECT_THROW(plan(), BadArgument);
        } else if (own.overlaps && kind == CollectiveKind::all_to_all &&
                   GetParam() != std::string("dma")) {
          EXPECT_THROW(plan(), Unavailable);
        } else {
          EXPECT_NO_THROW(plan());
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Communicator, Placings, ::testing::Values("dma", "kernel"));

// Where a rank receives no other may send or receive; all may send from the same memory.
TEST(Communicator, RefusesToReceiveIntoAnotherRanksBuffer) {
  Communicator communicator({"host:3", "dma"});
  std::vector<std::int32_t> sent(10, 7), shared(50);
  const auto refused = [&](std::int32_t* of_rank_1, std::int32_t* of_rank_2,
                           const std::string& text) {
    communicator.each([&](LocalRank& rank) {
      std::vector<std::int32_t> own(30);
      std::int32_t* const received[] = {own.data(), of_rank_1, of_rank_2};
      refuses<BadArgument>(
          [&] {
            rank.plan(of(CollectiveKind::all_gather, 10), sent.data(), received[rank.index()]);
          },
          text);
      EXPECT_NO_THROW(rank.plan(of(CollectiveKind::all_gather, 10), sent.data(), own.data()));
    });
  };
  refused(shared.data(), shared.data() + 20,
          "the receive buffer of rank 1 overlaps the receive buffer of rank 2");
  sent.resize(40);
  refused(shared.data(), sent.data() + 9, "in place, the send buffer at byte 80");
  communicator.each([&](LocalRank& rank) {
    std::vector<std::int32_t> own(30), whole(30);
    const std::int32_t* send = rank.index() == 1 ? shared.data() : own.data();
    refuses<BadArgument>(
        [&] {
          rank.plan(of(CollectiveKind::all_gather, 10), send,
                    rank.index() == 2 ? shared.data() + 9 : whole.data());
        },
        "the receive buffer of rank 2 overlaps the send buffer of rank 1");
  });
}

// The engines get no more of a buffer than the collective uses.
TEST(Communicator, LeavesWhatLiesBehindABuffer) {
  for (const char* engine : {"host", "dma", "kernel"}) {
    Communicator communicator({"host:2", engine});
    communicator.each([&](LocalRank& rank) {
      const auto send = rank.allocate(400), recv = rank.allocate(400);
      put(rank, send->span(), rank.index() + 1);
      put(rank, recv->span(), -1);
      CollectiveCall sum =
          rank.plan(of(CollectiveKind::all_reduce, 10), send->span(), recv->span());
      rank.barrier("all ranks to have filled their buffers", kDeadline);
      const auto stream = rank.device().make_stream();
      sum.enqueue(*stream);
      stream->synchronize(kDeadline);
      std::vector<std::int32_t> expected(100, -1);
      std::fill_n(expected.begin(), 10, 3);
      EXPECT_EQ(contents(rank, recv->span()), expected) << engine;
      rank.retire(std::move(sum));
    });
  }
}

// One rank's buffer is too small: it is told what was expected, the others whose it was, and all
// plan again.
TEST_P(EveryEngine, ARankThatIsRefusedLeavesNobodyBehind) {
  const auto [engine, device] = GetParam();
  Communicator communicator({device, engine});
  communicator.each([](LocalRank& rank) {
    const int last = rank.size() - 1;
    const auto own = rank.allocate(400);
    const auto all = rank.allocate(400 * static_cast<std::uint64_t>(rank.size()));
    for (int attempt = 0; attempt < 6; ++attempt) {
      const bool small = attempt % 2 == 0;
      const Span recv = small && rank.index() == last ? all->span().slice(0, 100) : all->span();
      std::string refused;
      try {
        CollectiveCall call = rank.plan(of(CollectiveKind::all_gather, 100), own->span(), recv);
        rank.retire(std::move(call));
      } catch (const BadArgument& error) {
        refused = error.what();
      }
      const std::string whose =
          rank.index() == last ? "all_gather: receive buffer: expected "
                               : "rank " + std::to_string(last) + ": all_gather: receive buffer";
      EXPECT_EQ(refused.substr(0, whose.size()), small ? whose : "") << refused;
    }
  });
}

TEST(Communicator, RanksInDifferentCallsAreToldWhich) {
  Communicator communicator({"host:2", "dma"});
  communicator.each([](LocalRank& rank) {
    const auto own = rank.allocate(40), all = rank.allocate(80);
    const auto refused = [&](const std::function<void()>& call) {
      refuses<BadArgument>(call,
                           "rank 0 waits for all ranks to plan a collective, rank 1 for a barrier");
    };
    const auto plan = [&] {
      rank.plan(of(CollectiveKind::all_gather, 10), own->span(), all->span());
    };
    refused([&] { rank.index() == 0 ? plan() : rank.barrier("a barrier", kDeadline); });
    EXPECT_NO_THROW(plan());
  });
}

// Before anything is enqueued, so that the call works afterwards.
TEST(Communicator, RefusesRowsThatThereAreNot) {
  Communicator communicator({"host:2", "dma"});
  communicator.each([&](LocalRank& rank) {
    const auto memory = rank.allocate(4096);
    Collective sum = of(CollectiveKind::all_reduce, 1024);
    CollectiveCall call = rank.plan(sum, memory->span(), memory->span());
    const auto stream = rank.device().make_stream();
    EXPECT_THROW(call.enqueue_rows(*stream, [](Stream&, const CallRows&) {}), BadArgument);
    put(rank, memory->span(), 1);
    rank.barrier();
    call.enqueue(*stream);
    stream->synchronize(kDeadline);
    EXPECT_EQ(contents(rank, memory->span()), std::vector<std::int32_t>(1024, 2));
    rank.retire(std::move(call));
    for (const MatrixRows& rows :
         {MatrixRows{0, 1}, MatrixRows{1000, 1}, MatrixRows{4, -1},
          MatrixRows{4, kMostRowRanges + 1}, MatrixRows{4, 1, RowSums::in_slots, 3}}) {
      sum.rows = rows;
      EXPECT_THROW(rank.plan(sum, memory->span(), memory->span()), BadArgument);
    }
  });
}

TEST(Communicator, RefusesACallThatIsNoneAndAnothersStream) {
  Communicator communicator({"host:2"});
  communicator.each([&](LocalRank& rank) {
    CollectiveCall none;
    EXPECT_THROW(none.enqueue(nullptr), BadArgument);
    EXPECT_THROW(none.algorithm(), BadArgument);
    std::int32_t word = 0;
    CollectiveCall call = rank.plan(of(CollectiveKind::all_reduce, 1), &word, &word);
    const auto other = open_machine("host");
    const auto stream = other->device(0).make_stream();
    EXPECT_THROW(call.enqueue(*stream), BadArgument);
    rank.retire(std::move(call));
  });
}

}  // namespace
}  // namespace duet
