// Exchanges of small parts, by way of staging memory where a device takes it.
#include <cstdint>
#include <limits>

#include "devices.h"

namespace duet::conformance {
namespace {

constexpr int kBlocks = 4;
constexpr int kRanks = 6;  // in turn on the devices there are
constexpr std::size_t kWordBytes = kBlocks * sizeof(std::uint64_t);

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

class PacketExchanges : public DeviceTest {
 protected:
  Device& device_of(int rank) { return device(rank % machine_->size()); }

  void make_ranks(std::size_t part) {
    part_ = part;
    send_.clear(), recv_.clear(), boxes_.clear(), words_.clear(), streams_.clear();
    for (int rank = 0; rank < kRanks; ++rank) {
      Device& on = device_of(rank);
      send_.push_back(on.allocate(kRanks * part));
      recv_.push_back(filled(on, kRanks * part, constant(0)));
      boxes_.push_back(filled(on, kRanks * staging_bytes(part), constant(0)));
      words_.push_back(filled(on, kRanks * kWordBytes, constant(0)));
      streams_.push_back(on.make_stream());
    }
  }

  Span part(const std::vector<Buffer>& of, int rank, int i) const {
    return of[index(rank)].slice(index(i) * part_, part_);
  }
  // At `at`, what `by` writes.
  Span words(int at, int by) const {
    return words_[index(at)].slice(index(by) * kWordBytes, kWordBytes);
  }
  Span box(int at, int by) const {
    return boxes_[index(at)].slice(index(by) * staging_bytes(part_), staging_bytes(part_));
  }

  // Part t of every rank goes to rank t: side by side, or reduced to one.
  Exchange exchange_of(int rank, bool reduces) const {
    Exchange exchange;
    exchange.blocks = kBlocks;
    exchange.dtype = DType::bf16;
    ExchangeItem reduction;
    for (int other = 0; other < kRanks; ++other) {
      reduction.sources.push_back(part(send_, other, rank));
      if (!reduces)
        exchange.items.push_back({{part(send_, rank, other)}, {part(recv_, other, rank)}});
    }
    reduction.destinations = {part(recv_, rank, 0)};
    if (reduces) exchange.items = {reduction};
    Staged staged{part(send_, rank, rank), part(recv_, rank, reduces ? 0 : rank), {}, reduces};
    for (int other = 0; other < kRanks; ++other) {
      if (other == rank) continue;
      exchange.arrivals.push_back(words(other, rank));
      exchange.awaits.push_back(words(rank, other));
      staged.peers.push_back({part(send_, rank, other), box(other, rank), box(rank, other),
                              part(recv_, rank, reduces ? 0 : other)});
    }
    exchange.staged = staged;
    return exchange;
  }

  // Every round with contents of its own, and what it has left, in a log a rank.
  std::vector<Buffer> log_of(int rounds, bool reduces, Fill (*contents)(int round, int rank)) {
    std::vector<std::unique_ptr<PreparedExchange>> prepared;
    std::vector<Buffer> logs;
    for (int rank = 0; rank < kRanks; ++rank) {
      prepared.push_back(device_of(rank).prepare(exchange_of(rank, reduces)));
      logs.push_back(device_of(rank).allocate(index(rounds) * kRanks * part_));
    }
    for (int round = 0; round < rounds; ++round) {
      for (int rank = 0; rank < kRanks; ++rank) {
        Stream& stream = *streams_[index(rank)];
        stream.fill(send_[index(rank)].span(), contents(round, rank));
        stream.exchange(*prepared[index(rank)]);
        const Span kept = logs[index(rank)].slice(index(round) * kRanks * part_, kRanks * part_);
        stream.copy({kept, recv_[index(rank)].span(), Executor::kernel, {}});
      }
    }
    for (auto& stream : streams_) stream->synchronize(kDeadline);
    return logs;
  }

  void expect(const Span& span, const Fill& fill, int round) {
    const auto difference = span.owner->check(span, fill);
    EXPECT_FALSE(difference.has_value())
        << "round " << round << ", " << span.bytes << " bytes, from "
        << (difference ? difference->first_offset : 0);
  }

  std::size_t part_ = 0;
  std::vector<Buffer> send_, recv_, boxes_, words_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

std::uint64_t seed(int round, int rank) { return static_cast<std::uint64_t>(1000 * round + rank); }

TEST_P(PacketExchanges, KeepRoundsOfMovesApart) {
  const auto contents = [](int round, int rank) { return pattern(seed(round, rank)); };
  for (const std::size_t bytes : {8u, 1000u, 16408u}) {
    make_ranks(bytes);
    const int rounds = bytes > 1000 ? 100 : 300;
    const std::vector<Buffer> logs = log_of(rounds, false, contents);
    for (int round = 0; round < rounds; ++round) {
      for (int rank = 0; rank < kRanks; ++rank) {
        for (int from = 0; from < kRanks; ++from) {
          const Span got = part(logs, rank, round * kRanks + from);
          expect(got, pattern(seed(round, from), index(rank) * bytes), round);
        }
      }
    }
  }
}

TEST_P(PacketExchanges, KeepRoundsOfReductionsApart) {
  constexpr int kRounds = 100;
  const auto contents = [](int round, int rank) {
    return Fill{Fill::Kind::digits, seed(round, rank), 0, DType::bf16, Reduction::sum, kRanks};
  };
  for (const std::size_t bytes : {8u, 1000u, 16408u}) {
    make_ranks(bytes);
    const std::vector<Buffer> logs = log_of(kRounds, true, contents);
    for (int round = 0; round < kRounds; ++round) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const Fill sum{Fill::Kind::digits_reduced,
                       seed(round, 0),
                       index(rank) * bytes,
                       DType::bf16,
                       Reduction::sum,
                       kRanks};
        expect(part(logs, rank, round * kRanks), sum, round);
      }
    }
  }
}

TEST_P(PacketExchanges, GoOnWhenPeersAreGone) {
  make_ranks(4096);
  const auto prepared = device().prepare(exchange_of(0, false));
  streams_[0]->exchange(*prepared);
  streams_[0]->exchange(*prepared);
  EXPECT_FALSE(streams_[0]->idle());
  for (int by = 1; by < kRanks; ++by) {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      device().signal({words(0, by).slice(block * 8, 8)}, std::numeric_limits<std::int64_t>::max());
    }
  }
  streams_[0]->synchronize(kDeadline);
}

TEST_P(PacketExchanges, RefuseWhatDoesNotFit) {
  make_ranks(64);
  const auto refuse = [&](void (*spoil)(Staged&)) {
    Exchange exchange = exchange_of(0, false);
    spoil(*exchange.staged);
    EXPECT_THROW(device().prepare(exchange), BadArgument);
  };
  refuse([](Staged& staged) { staged.peers.pop_back(); });
  refuse([](Staged& staged) { staged.source = staged.source.slice(0, 60); });
  refuse([](Staged& staged) { staged.destination = staged.destination.slice(0, 56); });
  refuse([](Staged& staged) { staged.peers[1].inbox = staged.peers[1].inbox.slice(0, 64); });
}

DUET_CONFORMANCE(PacketExchanges);

}  // namespace
}  // namespace duet::conformance
