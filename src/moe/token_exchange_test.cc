// Rows go to their experts and come back, on every kind of device. All values are small integers,
// whose sums are exact in any order: results are equal to the bit.
#include "moe/token_exchange.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "communicator/communicator.h"
#include "core/error.h"
#include "core/label_fixture.h"
#include "core/message_fixture.h"
#include "device/faulty_stream_fixture.h"
#include "device/graph.h"
#include "device/machine.h"

namespace duet {
namespace {

constexpr double kExchangeDeadline = 30;
constexpr std::int64_t kHidden = 16;

using Route = std::function<std::int64_t(std::int64_t token, std::int64_t choice)>;

TokenExchangeOptions small_exchange(int ranks, std::int64_t chosen = 2) {
  return {5, kHidden, 3 * ranks, chosen, DType::fp32, false};
}

float element(int round, std::int64_t token, std::int64_t column) {
  return static_cast<float>((7 * token + 3 * column + round) % 3);
}
float weight(int round, std::int64_t token, std::int64_t choice) {
  return static_cast<float>(1 + (token + choice + round) % 2);
}
float made_by(std::int64_t expert, float value) { return value * static_cast<float>(expert + 1); }

// An exchange and what a test writes and reads, of one rank.
class Exchanged {
 public:
  Exchanged(LocalRank& rank, const TokenExchangeOptions& options)
      : rank_(rank), options_(options), exchange_(rank, options) {}

  TokenExchange& exchange() { return exchange_; }

  // Enqueues the round's contents, which come by copies, as earlier work of the stream.
  void write(int round, const Route& route, Stream& stream) {
    std::vector<float> rows;
    std::vector<std::int32_t> experts;
    std::vector<float> weights;
    for (std::int64_t t = first_token(); t < first_token() + options_.tokens; ++t) {
      for (std::int64_t c = 0; c < kHidden; ++c) rows.push_back(element(round, t, c));
      for (std::int64_t j = 0; j < options_.chosen; ++j) {
        experts.push_back(static_cast<std::int32_t>(route(t, j)));
        weights.push_back(weight(round, t, j));
      }
    }
    std::vector<std::byte> stored(exchange_.tokens().bytes);
    convert(DType::fp32, rows.data(), options_.dtype, stored.data(), rows.size());
    copy_to(exchange_.tokens(), stored.data(), stream);
    copy_to(exchange_.routing(), packed_routing(experts, weights, options_.chosen).data(), stream);
  }

  // What the experts make, by a task of the stream or, on a GPU, by the CPU.
  void multiply(Stream& stream) {
    stream.fill(exchange_.results(), {FillKind::constant, 0xFF});
    if (rank_.device().info().kind != "cuda") {
      return stream.run({"experts", {}, [this] {
                           make_results(exchange_.offsets().data, exchange_.rows().data,
                                        exchange_.results().data);
                         }});
    }
    stream.synchronize(kExchangeDeadline);
    std::vector<std::byte> results = read(exchange_.results());
    make_results(read(exchange_.offsets()).data(), read(exchange_.rows()).data(), results.data());
    rank_.device().write(exchange_.results(), results.data());
  }

  // Copies what came back, to be compared when the stream is done.
  void keep(Stream& stream) {
    kept_.push_back(rank_.device().allocate(exchange_.out().bytes));
    stream.copy({kept_.back().span(), exchange_.out(), Executor::kernel, {}});
  }
  void round(int number, const Route& route, Stream& stream) {
    write(number, route, stream);
    exchange_.dispatch(stream);
    multiply(stream);
    exchange_.combine(stream);
    keep(stream);
  }

  void expect_kept(int round, const Route& route) {
    std::vector<float> expected;
    for (std::int64_t t = first_token(); t < first_token() + options_.tokens; ++t) {
      for (std::int64_t c = 0; c < kHidden; ++c) {
        float sum = 0;
        for (std::int64_t j = 0; j < options_.chosen; ++j) {
          if (route(t, j) >= 0)
            sum += weight(round, t, j) * made_by(route(t, j), element(round, t, c));
        }
        expected.push_back(sum);
      }
    }
    EXPECT_EQ(values(read(kept_.front().span())), expected) << "round " << round;
    kept_.erase(kept_.begin());
  }

  // After a dispatch, with its stream done: which tokens each own expert has, in order.
  void expect_rows(int round, const Route& route) {
    std::vector<float> expected;
    std::vector<std::int32_t> begins{0};
    for (std::int64_t e = 0; e < exchange_.own_experts(); ++e) {
      for (std::int64_t t = 0; t < rank_.size() * options_.tokens; ++t) {
        for (std::int64_t j = 0; j < options_.chosen; ++j) {
          if (route(t, j) != exchange_.first_expert() + e) continue;
          for (std::int64_t c = 0; c < kHidden; ++c) expected.push_back(element(round, t, c));
        }
      }
      begins.push_back(static_cast<std::int32_t>(expected.size() / kHidden));
    }
    std::vector<std::int32_t> offsets(begins.size());
    rank_.device().read(exchange_.offsets(), offsets.data());
    EXPECT_EQ(offsets, begins);
    std::vector<float> rows = values(read(exchange_.rows()));
    rows.resize(expected.size());
    EXPECT_EQ(rows, expected);
  }

 private:
  std::int64_t first_token() const { return rank_.index() * options_.tokens; }

  void copy_to(const Span& to, const void* bytes, Stream& stream) {
    written_.push_back(rank_.device().allocate(to.bytes));
    rank_.device().write(written_.back().span(), bytes);
    stream.copy({to, written_.back().span(), Executor::kernel, {}});
  }
  std::vector<std::byte> read(const Span& span) {
    std::vector<std::byte> bytes(span.bytes);
    rank_.device().read(span, bytes.data());
    return bytes;
  }
  std::vector<float> values(const std::vector<std::byte>& bytes) const {
    std::vector<float> all(bytes.size() / size_of(options_.dtype));
    convert(options_.dtype, bytes.data(), DType::fp32, all.data(), all.size());
    return all;
  }

  void make_results(const std::byte* offsets, const std::byte* rows, std::byte* results) const {
    const auto* const begins = reinterpret_cast<const std::int32_t*>(offsets);
    const std::size_t size = size_of(options_.dtype);
    for (std::int64_t e = 0; e < exchange_.own_experts(); ++e) {
      for (std::int64_t i = begins[e] * kHidden; i < begins[e + 1] * kHidden; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * size;
        const float value = load(options_.dtype, rows + at);
        store(options_.dtype, results + at, made_by(exchange_.first_expert() + e, value));
      }
    }
  }

  LocalRank& rank_;
  const TokenExchangeOptions options_;
  TokenExchange exchange_;
  std::vector<Buffer> written_, kept_;
};

class TokenExchangeTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      communicator_.emplace(CommunicatorOptions{GetParam(), "auto"});
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // All rounds are enqueued before the first one is waited for.
  void expect_right(const TokenExchangeOptions& options, const std::vector<Route>& rounds) {
    communicator_->each([&](LocalRank& rank) {
      Exchanged exchanged(rank, options);
      const auto stream = rank.device().make_stream();
      const int count = static_cast<int>(rounds.size());
      for (int i = 0; i < count; ++i)
        exchanged.round(i, rounds[static_cast<std::size_t>(i)], *stream);
      stream->synchronize(kExchangeDeadline);
      exchanged.expect_rows(count - 1, rounds.back());
      for (int i = 0; i < count; ++i) exchanged.expect_kept(i, rounds[static_cast<std::size_t>(i)]);
      exchanged.exchange().retire(rank);
    });
  }
  std::int64_t experts() const { return 3 * communicator_->size(); }
  Route spread(int round) const {
    return [=, all = experts()](std::int64_t token, std::int64_t choice) {
      return (5 * token + choice + round) % all;
    };
  }

  std::optional<Communicator> communicator_;
};

TEST_P(TokenExchangeTest, CallsFollowOnEachOtherWithOtherRoutings) {
  std::vector<DType> types{DType::fp32};
  if (std::string(GetParam()) == "cuda") types.push_back(DType::bf16);
  for (const DType type : types) {
    SCOPED_TRACE(name(type));
    TokenExchangeOptions options = small_exchange(communicator_->size());
    options.dtype = type;
    expect_right(options, {spread(0), spread(1), spread(2), spread(3), spread(4), spread(5)});
  }
}

TEST_P(TokenExchangeTest, ExpertsMayBeWithoutTokensAndOneHaveAll) {
  const auto to_last = [last = experts() - 1](std::int64_t, std::int64_t choice) {
    return choice == 0 ? last : -1;
  };
  const auto none = [](std::int64_t, std::int64_t) { return -1; };
  expect_right(small_exchange(communicator_->size()), {to_last, none, spread(2), to_last});
}

// One graph of the dispatch and one of the combine, with new contents and routings each time.
TEST_P(TokenExchangeTest, CallsAreCaptured) {
  communicator_->each([&](LocalRank& rank) {
    Exchanged exchanged(rank, small_exchange(rank.size()));
    const auto stream = rank.device().make_stream();
    const auto dispatch = capture(*stream, [&] { exchanged.exchange().dispatch(*stream); });
    const auto combine = capture(*stream, [&] { exchanged.exchange().combine(*stream); });
    for (int round = 0; round < 3; ++round) {
      exchanged.write(round, spread(round), *stream);
      dispatch->launch(*stream);
      exchanged.multiply(*stream);
      combine->launch(*stream);
      exchanged.keep(*stream);
    }
    stream->synchronize(kExchangeDeadline);
    for (int round = 0; round < 3; ++round) exchanged.expect_kept(round, spread(round));
    exchanged.exchange().retire(rank);
  });
}

// Of one expert of each token, whose normalised weight is 1.
TEST_P(TokenExchangeTest, ARouterChooses) {
  communicator_->each([&](LocalRank& rank) {
    const TokenExchangeOptions options = small_exchange(rank.size(), 1);
    Exchanged exchanged(rank, options);
    const auto stream = rank.device().make_stream();
    exchanged.write(
        1, [](std::int64_t, std::int64_t) { return -1; }, *stream);
    std::vector<float> logits(static_cast<std::size_t>(options.tokens * options.experts));
    const Route route = spread(1);
    for (std::int64_t t = 0; t < options.tokens; ++t) {
      const std::int64_t expert = route(rank.index() * options.tokens + t, 0);
      logits[static_cast<std::size_t>(t * options.experts + expert)] = 4;
    }
    const Buffer of = rank.device().allocate(logits.size() * sizeof(float));
    rank.device().write(of.span(), logits.data());
    TokenExchange& exchange = exchanged.exchange();
    exchange.choose(*stream, of.span(), true);
    exchange.dispatch(*stream);
    stream->synchronize(kExchangeDeadline);
    exchanged.expect_rows(1, route);
    EXPECT_THROW(exchange.choose(*stream, of.slice(0, 16), true), BadArgument);
    exchange.retire(rank);
  });
}

// Of rank r the first r tokens, so that one has none; with a router or a routing of the program's.
TEST_P(TokenExchangeTest, RanksMayHaveFewerTokens) {
  communicator_->each([&](LocalRank& rank) {
    const TokenExchangeOptions options = small_exchange(rank.size(), 1);
    const auto there = [&](std::int64_t token) {
      return token % options.tokens < token / options.tokens;
    };
    const Route route = [&, all = spread(1)](std::int64_t token, std::int64_t choice) {
      return there(token) ? all(token, choice) : -1;
    };
    Exchanged exchanged(rank, options);
    TokenExchange& exchange = exchanged.exchange();
    const auto stream = rank.device().make_stream();
    exchanged.write(1, spread(1), *stream);
    exchange.leave_out(*stream, rank.index());
    exchange.dispatch(*stream);
    exchanged.multiply(*stream);
    exchange.combine(*stream);
    exchanged.keep(*stream);
    stream->synchronize(kExchangeDeadline);
    exchanged.expect_rows(1, route);
    exchanged.expect_kept(1, route);

    const std::int64_t own = rank.index() * options.tokens;
    std::vector<float> logits(static_cast<std::size_t>((rank.index() + 1) * options.experts));
    for (std::int64_t t = 0; t < rank.index(); ++t)
      logits[static_cast<std::size_t>(t * options.experts + route(own + t, 0))] = 4;
    const Buffer of = rank.device().allocate(logits.size() * sizeof(float));
    rank.device().write(of.span(), logits.data());
    const auto row = static_cast<std::uint64_t>(options.experts) * sizeof(float);
    exchange.choose(*stream, of.slice(0, static_cast<std::uint64_t>(rank.index()) * row), true);
    exchange.dispatch(*stream);
    stream->synchronize(kExchangeDeadline);
    exchanged.expect_rows(1, route);
    EXPECT_THROW(exchange.leave_out(*stream, options.tokens + 1), BadArgument);
    exchange.retire(rank);
  });
}

// As a backward pass needs it: gradients of rows come back to their tokens with weights of 1.
TEST_P(TokenExchangeTest, SumsWithOtherWeights) {
  communicator_->each([&](LocalRank& rank) {
    const TokenExchangeOptions options = small_exchange(rank.size());
    Exchanged exchanged(rank, options);
    TokenExchange& exchange = exchanged.exchange();
    const auto stream = rank.device().make_stream();
    exchanged.write(0, spread(2), *stream);
    exchange.dispatch(*stream);
    stream->synchronize(kExchangeDeadline);
    const std::int64_t all = rank.size() * options.tokens;
    std::vector<std::int32_t> places(static_cast<std::size_t>(all * 2));
    rank.device().read(exchange.places(), places.data());
    std::vector<std::int32_t> routing(static_cast<std::size_t>(all * 4));
    rank.device().read(exchange.all_routing(), routing.data());
    for (std::int64_t t = 0; t < all; ++t) {
      for (std::int64_t j = 0; j < 2; ++j) {
        const auto expert = routing[static_cast<std::size_t>(4 * t + j)];
        EXPECT_EQ(expert, spread(2)(t, j));
        const std::int64_t own = expert - exchange.first_expert();
        EXPECT_EQ(places[static_cast<std::size_t>(2 * t + j)] >= 0,
                  own >= 0 && own < exchange.own_experts());
      }
    }
    std::vector<std::int32_t> experts;
    for (std::int64_t t = 0; t < all; ++t)
      experts.insert(experts.end(), &routing[static_cast<std::size_t>(4 * t)],
                     &routing[static_cast<std::size_t>(4 * t)] + 2);
    const std::vector<float> ones(experts.size(), 1);
    rank.device().write(exchange.all_routing(), packed_routing(experts, ones, 2).data());
    stream->copy({exchange.results(), exchange.rows(), Executor::kernel, {}});
    exchange.combine(*stream);
    stream->synchronize(kExchangeDeadline);
    std::vector<float> sums(static_cast<std::size_t>(options.tokens * kHidden));
    rank.device().read(exchange.out(), sums.data());
    for (std::int64_t t = 0; t < options.tokens; ++t) {
      const float expected = 2 * element(0, rank.index() * options.tokens + t, 0);
      EXPECT_EQ(sums[static_cast<std::size_t>(t * kHidden)], expected);
    }
    exchange.retire(rank);
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, TokenExchangeTest,
                         ::testing::Values("host:1", "host:2", "host:3", "sim:h200:devices=2",
                                           "sim:p5-48xlarge:devices=2:nodes=2", "cuda"),
                         machine_label);

// Sums of all tokens are small enough to have contents, results are not.
TEST(SimulatedTokenExchange, NeedsNoContents) {
  Communicator communicator({"sim:h200:devices=2", "auto"});
  communicator.each([](LocalRank& rank) {
    TokenExchange exchange(rank, {512, 1024, 64, 8, DType::fp32, true});
    EXPECT_EQ(exchange.results().data, exchange.rows().data);
    std::vector<std::int32_t> experts(512 * 8);
    for (std::size_t i = 0; i < experts.size(); ++i) experts[i] = static_cast<std::int32_t>(i % 64);
    const std::vector<float> weights(experts.size(), 1);
    rank.device().write(exchange.routing(), packed_routing(experts, weights, 8).data());
    const auto stream = rank.device().make_stream();
    exchange.dispatch(*stream);
    exchange.combine(*stream);
    stream->synchronize(kExchangeDeadline);
    exchange.retire(rank);
  });
}

TEST(TokenExchange, RefusesWhatIsNotPossible) {
  Communicator communicator({"host:2", "auto"});
  const auto refused = [&](const TokenExchangeOptions& options) {
    return message_of<BadArgument>(
        [&] { communicator.each([&](LocalRank& rank) { TokenExchange(rank, options); }); });
  };
  EXPECT_EQ(
      refused({0, 16, 6, 2, DType::fp32}),
      "token exchange of 0 tokens of 16 fp32, 2 of 6 experts: expected a token and an element "
      "of its row, or more");
  EXPECT_EQ(refused({5, 16, 7, 2, DType::fp32}),
            "token exchange of 5 tokens of 16 fp32, 2 of 7 experts: expected experts in a multiple "
            "of the 2 ranks");
  EXPECT_EQ(refused({5, 16, 6, 7, DType::fp32}),
            "token exchange of 5 tokens of 16 fp32, 7 of 6 experts: expected 1 to 6 experts of a "
            "token");
  EXPECT_NE(refused({5, 16, 6, 2, DType::bf16}).find("expected fp32 on "), std::string::npos);
  EXPECT_NE(refused({1 << 30, 16, 6, 2, DType::fp32}).find("expected at most 2147483647 rows"),
            std::string::npos);
}

TEST(TokenExchange, RefusesOptionsThatAreNotEqual) {
  Communicator communicator({"host:2", "auto"});
  const std::string message = message_of<BadArgument>([&] {
    communicator.each([](LocalRank& rank) {
      TokenExchange(rank, {5, 16, rank.index() == 0 ? 6 : 8, 2, DType::fp32});
    });
  });
  EXPECT_NE(message.find("2 of 6 experts"), std::string::npos) << message;
  EXPECT_NE(message.find("2 of 8 experts"), std::string::npos) << message;
}

TEST(TokenExchange, RanksGoOnWhenOneHasWrongOptions) {
  Communicator communicator({"host:2", "auto"});
  communicator.each([](LocalRank& rank) {
    TokenExchangeOptions options = small_exchange(2);
    if (rank.index() == 1) options.chosen = 33;
    EXPECT_THROW(TokenExchange(rank, options), BadArgument);
    TokenExchange(rank, small_exchange(2)).retire(rank);
  });
}

TEST(TokenExchange, RefusesStreamsOfAnotherDeviceAndCallsAfterItsEnd) {
  Communicator communicator({"host:1", "auto"});
  const auto others = open_machine("host:1");
  communicator.each([&](LocalRank& rank) {
    TokenExchange exchange(rank, small_exchange(1));
    const auto stream = others->device(0).make_stream();
    EXPECT_THROW(exchange.dispatch(*stream), BadArgument);
    EXPECT_THROW(exchange.combine(*stream), BadArgument);
    TokenExchange moved = std::move(exchange);
    moved.retire(rank);
    EXPECT_THROW(moved.tokens(), BadArgument);
  });
}

TEST(TokenExchange, PacksARoutingOfWholeTokensAlone) {
  EXPECT_EQ(packed_routing({4, 5, 6, 7}, {0, 0, 0, 0}, 2),
            (std::vector<std::int32_t>{4, 5, 0, 0, 6, 7, 0, 0}));
  EXPECT_THROW(packed_routing({4, 5, 6}, {1, 1, 1}, 2), BadArgument);
  EXPECT_THROW(packed_routing({4, 5}, {1}, 2), BadArgument);
  EXPECT_THROW(packed_routing({4, 5}, {1, 1}, 0), BadArgument);
}

// The others' streams wait for its rows.
TEST(TokenExchange, ARankThatThrowsEndsTheOthers) {
  Communicator communicator({"host:3", "auto"});
  std::vector<std::optional<TokenExchange>> exchanges(3);
  const auto run = [&](LocalRank& rank) {
    std::optional<TokenExchange>& own = exchanges[static_cast<std::size_t>(rank.local())];
    own.emplace(rank, small_exchange(3));
    if (rank.index() == 1) throw Mismatch("rank 1 fails on purpose");
    const auto stream = rank.device().make_stream();
    try {
      own->dispatch(*stream);
      own->combine(*stream);
    } catch (const PeerFailed&) {
    }
    EXPECT_NO_THROW(stream->synchronize(kExchangeDeadline));
  };
  EXPECT_THROW(communicator.each(run), Mismatch);
  EXPECT_NE(communicator.failure().find("rank 1"), std::string::npos) << communicator.failure();
}

// Whichever of its parts rank 0 fails to enqueue outside of each(), rank 1 goes on and is told.
TEST(TokenExchange, AFailureOutsideOfEachIsToldToAll) {
  Communicator communicator({"host:2", "auto"});
  bool failed = true;
  for (int part = 0; failed; ++part) {
    std::optional<TokenExchange> exchanges[2];
    std::unique_ptr<Stream> streams[2];
    communicator.each([&](LocalRank& rank) {
      exchanges[rank.local()].emplace(rank, small_exchange(2));
      streams[rank.local()] = rank.device().make_stream();
    });
    const auto call = [](TokenExchange& exchange, Stream& stream) {
      exchange.leave_out(stream, 1);
      exchange.dispatch(stream);
      exchange.combine(stream);
    };
    call(*exchanges[1], *streams[1]);
    FaultyStream faulty(*streams[0], part);
    try {
      call(*exchanges[0], faulty);
      failed = false;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "on purpose");
    }
    for (const auto& each : streams) EXPECT_NO_THROW(each->synchronize(kExchangeDeadline)) << part;
    EXPECT_EQ(communicator.failure().empty(), !failed) << part;
    if (!failed) continue;
    EXPECT_THROW(exchanges[1]->dispatch(*streams[1]), PeerFailed) << part;
  }
}

}  // namespace
}  // namespace duet
