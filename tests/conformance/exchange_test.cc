// Exchanges: reducing, moving and meeting in one launch.
#include <cstring>

#include "devices.h"

namespace duet::conformance {
namespace {

constexpr std::uint64_t kSeed = 40;

const std::vector<DType> kReduced = {DType::fp32, DType::fp16, DType::bf16, DType::int32};

Fill digits(DType dtype, int ranks, std::uint64_t seed) {
  return {Fill::Kind::digits, seed, 0, dtype, Reduction::sum, ranks};
}

Fill reduced(DType dtype, Reduction op, int ranks, std::uint64_t seed = kSeed) {
  return {Fill::Kind::digits_reduced, seed, 0, dtype, op, ranks};
}

class Exchanges : public DeviceTest {
 protected:
  void run(Device& on, const Exchange& exchange) {
    const auto prepared = on.prepare(exchange);
    auto stream = on.make_stream();
    stream->exchange(*prepared);
    stream->synchronize(kDeadline);
  }

  // `ranks` fills of digits, each `shift` elements into a buffer of its own.
  std::vector<Span> inputs(DType dtype, int ranks, std::size_t count, std::size_t shift) {
    std::vector<Span> spans;
    const std::size_t size = size_of(dtype);
    auto stream = device().make_stream();
    for (int rank = 0; rank < ranks; ++rank) {
      kept_.push_back(device().allocate((count + shift) * size));
      spans.push_back(kept_.back().slice(shift * size, count * size));
      stream->fill(spans.back(), digits(dtype, ranks, kSeed + static_cast<std::uint64_t>(rank)));
    }
    stream->synchronize(kDeadline);
    return spans;
  }

  void expect(const Span& span, const Fill& fill) {
    const auto difference = span.owner->check(span, fill);
    EXPECT_FALSE(difference.has_value())
        << name(fill.dtype) << " " << name(fill.op) << " of " << fill.ranks << ", " << span.bytes
        << " bytes, from " << (difference ? difference->first_offset : 0);
  }

  std::vector<Buffer> kept_;
};

TEST_P(Exchanges, ReduceEveryTypeByEveryOperation) {
  for (const DType dtype : kReduced) {
    for (const Reduction op : all_reductions()) {
      const std::size_t count = 5003;
      const std::vector<Span> sources = inputs(dtype, 3, count, 0);
      const Buffer result = device().allocate(count * size_of(dtype));
      run(device(), {{{sources, {result.span()}}}, dtype, op, 0, {}, {}});
      expect(result.span(), reduced(dtype, op, 3));
      kept_.clear();
    }
  }
}

TEST_P(Exchanges, ReduceAnyNumberOfSources) {
  for (const DType dtype : kReduced) {
    for (const int ranks : {2, 4, 5, 8, 9, 17}) {
      const std::vector<Span> sources = inputs(dtype, ranks, 4099, 0);
      const Buffer result = device().allocate(4099 * size_of(dtype));
      run(device(), {{{sources, {result.span()}}}, dtype, Reduction::avg, 3, {}, {}});
      expect(result.span(), reduced(dtype, Reduction::avg, ranks));
      kept_.clear();
    }
  }
}

TEST_P(Exchanges, ReduceOddSizesAndAlignments) {
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    const std::size_t size = size_of(dtype);
    for (const std::size_t count : {0u, 1u, 7u, 4097u, 600011u}) {
      for (const std::size_t shift : {0u, 1u, 3u}) {
        const std::vector<Span> sources = inputs(dtype, 4, count, shift);
        const Buffer room = device().allocate((count + 8) * size);
        for (const std::size_t to : {shift, shift + 2}) {
          const Span result = room.slice(to * size, count * size);
          run(device(), {{{sources, {result}}}, dtype, Reduction::sum, 5, {}, {}});
          expect(result, reduced(dtype, Reduction::sum, 4));
        }
        kept_.clear();
      }
    }
  }
}

TEST_P(Exchanges, LeaveWhatLiesBesideAlone) {
  const std::vector<Span> sources = inputs(DType::bf16, 2, 3001, 1);
  const Buffer room = filled(device(), 3001 * 2 + 20, constant(0x5A));
  run(device(), {{{sources, {room.slice(10, 3001 * 2)}}}, DType::bf16, Reduction::sum, 0, {}, {}});
  expect(room.slice(10, 3001 * 2), reduced(DType::bf16, Reduction::sum, 2));
  expect(room.slice(0, 10), constant(0x5A));
  expect(room.slice(10 + 3001 * 2, 10), constant(0x5A));
}

TEST_P(Exchanges, ReduceInPlaceAndToSeveralDestinations) {
  const std::vector<Span> sources = inputs(DType::fp16, 3, 70001, 0);
  const Buffer there = peer().allocate(70001 * 2);
  const std::vector<Span> destinations = {there.span(), sources[1]};
  run(device(), {{{sources, destinations}}, DType::fp16, Reduction::sum, 0, {}, {}});
  expect(there.span(), reduced(DType::fp16, Reduction::sum, 3));
  expect(sources[1], reduced(DType::fp16, Reduction::sum, 3));
}

TEST_P(Exchanges, CopyBytesToSeveralDestinations) {
  for (const std::size_t bytes : {0u, 1u, 17u, 8193u, 3000001u}) {
    for (const std::size_t shift : {0u, 1u, 2u, 4u}) {
      const Buffer source = filled(device(), bytes + 16, pattern(7));
      const Buffer here = device().allocate(bytes + 16), there = peer().allocate(bytes + 16);
      const std::vector<Span> to = {here.slice(shift, bytes), there.slice(0, bytes)};
      run(device(), {{{{source.slice(0, bytes)}, to}}, DType::fp8_e4m3, Reduction::sum, 0, {}, {}});
      for (const Span& each : to) expect(each, pattern(7));
    }
  }
}

TEST_P(Exchanges, TakeSeveralItems) {
  const std::vector<Span> sources = inputs(DType::fp32, 2, 30001, 0);
  const Buffer sum = device().allocate(30001 * 4), copy = device().allocate(999);
  const Buffer bytes = filled(device(), 999, pattern(3));
  run(device(), {{{sources, {sum.span()}}, {{bytes.span()}, {copy.span()}}},
                 DType::fp32,
                 Reduction::max,
                 0,
                 {},
                 {}});
  expect(sum.span(), reduced(DType::fp32, Reduction::max, 2));
  expect(copy.span(), pattern(3));
}

// A stream of the peer pushes pieces into two slots in turn; items reduce each with the device's
// own and give the slot back. Over and over, with words that are as they were after each round.
TEST_P(Exchanges, TakeTurnsWithAnotherStream) {
  constexpr std::size_t kPieces = 15, kPiece = 8192 * 4, kRounds = 30;
  const Buffer words = filled(device(), 2 * sizeof(std::uint64_t), constant(0));
  const Buffer back = filled(peer(), 2 * sizeof(std::uint64_t), constant(0));
  const Buffer own = device().allocate(kPieces * kPiece), slots = device().allocate(2 * kPiece);
  const Buffer theirs = peer().allocate(kPieces * kPiece);
  const Buffer result = device().allocate(kRounds * kPieces * kPiece);
  auto stream = device().make_stream(), pushes = peer().make_stream();
  for (std::size_t slot = 0; slot < 2; ++slot) peer().signal(flag_at(back, slot), 1);
  std::vector<std::unique_ptr<PreparedExchange>> prepared;
  for (std::size_t round = 0; round < kRounds; ++round) {
    Exchange exchange;
    exchange.dtype = DType::int32;
    exchange.blocks = 16;  // each has a slice, and goes on to the next item when it is done
    for (std::size_t i = 0; i < kPieces; ++i) {
      const Span to = result.slice((round * kPieces + i) * kPiece, kPiece);
      exchange.items.push_back(
          {{own.slice(i * kPiece, kPiece), slots.slice(i % 2 * kPiece, kPiece)},
           {to},
           {flag_at(words, i % 2)},
           {flag_at(back, i % 2)}});
    }
    prepared.push_back(device().prepare(exchange));
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    stream->fill(own.span(), digits(DType::int32, 2, 2 * round));
    stream->exchange(*prepared[round]);
    pushes->fill(theirs.span(), digits(DType::int32, 2, 2 * round + 1));
    for (std::size_t i = 0; i < kPieces; ++i) {
      pushes->meet({{}, {flag_at(back, i % 2)}});
      pushes->copy({slots.slice(i % 2 * kPiece, kPiece),
                    theirs.slice(i * kPiece, kPiece),
                    Executor::dma,
                    {}});
      pushes->meet({{flag_at(words, i % 2)}, {}});
    }
  }
  pushes->synchronize(kDeadline);
  stream->synchronize(kDeadline);
  for (std::size_t round = 0; round < kRounds; ++round) {
    expect(result.slice(round * kPieces * kPiece, kPieces * kPiece),
           reduced(DType::int32, Reduction::sum, 2, 2 * round));
  }
}

// Pieces go to the peer and, block by block, on from there; over and over, with the same words.
TEST_P(Exchanges, PassPiecesOnBlockByBlock) {
  constexpr int kBlocks = 8, kPieces = 5, kRounds = 20;
  constexpr std::size_t kWords = kBlocks * sizeof(std::uint64_t), kPiece = 100003;
  const Buffer words = filled(device(), kWords, constant(0));
  const Buffer there = filled(peer(), (kPieces + 1) * kWords, constant(0));
  const Buffer back = filled(device(), kPieces * kWords, constant(0));
  const Buffer from = device().allocate(kPieces * kPiece), at = peer().allocate(kPieces * kPiece),
               to = device().allocate(kPieces * kPiece);
  const Flag ready{words.span()}, taken{there.slice(kPieces * kWords, kWords)};
  Exchange first, second, third;
  second.items.push_back({{}, {}, {}, {ready}});
  third.items = {{{}, {}, {}, {taken}}, {}};
  for (std::size_t i = 0; i < kPieces; ++i) {
    const Flag come{there.slice(i * kWords, kWords)}, gone{back.slice(i * kWords, kWords)};
    const auto piece = [i](const Buffer& buffer) { return buffer.slice(i * kPiece, kPiece); };
    first.items.push_back({{piece(from)}, {piece(at)}, {}, {come}});
    if (i == 0) first.items.front().after = {ready};
    second.items.push_back({{piece(at)}, {piece(to)}, {come}, {gone}});
    if (i == 0) second.items.back().after.push_back(taken);
    third.items.back().after.push_back(gone);
  }
  std::vector<std::unique_ptr<PreparedExchange>> prepared;
  for (Exchange* exchange : {&first, &second, &third}) {
    exchange->blocks = kBlocks;
    exchange->flags_by_block = true;
    Device& on = exchange == &second ? peer() : device();
    prepared.push_back(on.prepare(*exchange));
  }
  const Buffer kept = device().allocate(kRounds * to.bytes());
  auto sends = device().make_stream(), passes = peer().make_stream(),
       receives = device().make_stream();
  for (std::size_t round = 0; round < kRounds; ++round) {
    sends->fill(from.span(), pattern(round));
    sends->exchange(*prepared[0]);
    passes->exchange(*prepared[1]);
    receives->exchange(*prepared[2]);
    receives->copy({kept.slice(round * to.bytes(), to.bytes()), to.span(), Executor::dma, {}});
  }
  for (const auto& stream : {&sends, &passes, &receives}) (*stream)->synchronize(kDeadline);
  for (std::size_t round = 0; round < kRounds; ++round) {
    expect(kept.slice(round * to.bytes(), to.bytes()), pattern(round));
  }
}

TEST_P(Exchanges, RefuseWhatDoesNotFit) {
  const Buffer room = device().allocate(1024);
  const Span a = room.slice(0, 64), b = room.slice(64, 64), c = room.slice(128, 32);
  const auto refuse = [&](const Exchange& exchange) {
    EXPECT_THROW(device().prepare(exchange), BadArgument);
  };
  refuse({{{{a, b}, {c}}}, DType::fp32, Reduction::sum, 0, {}, {}});
  refuse({{{{a}, {}}}, DType::fp32, Reduction::sum, 0, {}, {}});
  refuse({{{{}, {a}}}, DType::fp32, Reduction::sum, 0, {}, {}});
  refuse({{{{a, b}, {a}}}, DType::fp8_e4m3, Reduction::sum, 0, {}, {}});
  refuse({{{{a, room.slice(66, 64)}, {a}}}, DType::fp32, Reduction::sum, 0, {}, {}});
  refuse({{{{room.slice(0, 6), room.slice(64, 6)}, {room.slice(128, 6)}}},
          DType::fp32,
          Reduction::sum,
          0,
          {},
          {}});
  const Span word = room.slice(256, 8);
  refuse({{}, DType::fp32, Reduction::sum, 0, {word}, {word}});
  refuse({{}, DType::fp32, Reduction::sum, 2, {word}, {word}});
  refuse({{}, DType::fp32, Reduction::sum, 1, {word}, {}});
  const Flag flag{word};
  refuse({{{{a}, {b}, {flag}, {}}}, DType::fp32, Reduction::sum, 1, {word}, {word}});
  const std::vector<Span> many(kMostPeers + 1, word);
  refuse({{}, DType::fp32, Reduction::sum, 1, many, many});
  refuse(
      {{{{a}, std::vector<Span>(kMostSpans, b)}}, DType::fp32, Reduction::sum, 1, {word}, {word}});
}

TEST_P(Exchanges, BelongToTheirDevice) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  const auto prepared = device().prepare({});
  auto stream = peer().make_stream();
  EXPECT_THROW(stream->exchange(*prepared), BadArgument);
}

// All devices of a machine, each with words that the others write.
class Meetings : public Exchanges {
 protected:
  static constexpr int kBlocks = 4;
  static constexpr std::size_t kWordBytes = kBlocks * sizeof(std::uint64_t);

  int size() const { return machine_->size(); }

  void make_words() {
    for (int i = 0; i < size(); ++i) {
      words_.push_back(
          filled(device(i), kWordBytes * static_cast<std::size_t>(size()), constant(0)));
    }
  }

  // The words at `at` that `by` writes.
  Span words(int at, int by) const {
    return words_[static_cast<std::size_t>(at)].slice(kWordBytes * static_cast<std::size_t>(by),
                                                      kWordBytes);
  }

  Exchange meeting(int rank) const {
    Exchange exchange;
    exchange.blocks = kBlocks;
    for (int i = 0; i < size(); ++i) {
      if (i == rank) continue;
      exchange.arrivals.push_back(words(i, rank));
      exchange.awaits.push_back(words(rank, i));
    }
    return exchange;
  }

  std::vector<Buffer> words_;
};

// Every rank reduces what all have, over and over: each round it fills its input anew, so that a
// rank that starts too soon reads the last round's, and one that ends too soon is overwritten.
TEST_P(Meetings, KeepRoundsApart) {
  make_words();
  constexpr std::size_t kCount = 20000;
  constexpr int kRounds = 200;
  std::vector<Buffer> from, to, results;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<PreparedExchange>> prepared;
  for (int i = 0; i < size(); ++i) {
    from.push_back(device(i).allocate(kCount * 4));
    to.push_back(device(i).allocate(kCount * 4));
    results.push_back(device(i).allocate(kCount * 4 * kRounds));
    streams.push_back(device(i).make_stream());
  }
  for (int i = 0; i < size(); ++i) {
    Exchange exchange = meeting(i);
    ExchangeItem item;
    for (const Buffer& each : from) item.sources.push_back(each.span());
    item.destinations = {to[static_cast<std::size_t>(i)].span()};
    exchange.items = {item};
    exchange.dtype = DType::int32;
    prepared.push_back(device(i).prepare(exchange));
  }
  const auto seed = [&](int round, int rank) {
    return static_cast<std::uint64_t>(1000 * round + rank);
  };
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      streams[i]->fill(from[i].span(),
                       digits(DType::int32, size(), seed(round, static_cast<int>(i))));
      streams[i]->exchange(*prepared[i]);
      const Span keep = results[i].slice(kCount * 4 * static_cast<std::size_t>(round), kCount * 4);
      streams[i]->copy({keep, to[i].span(), Executor::kernel, {}});
    }
  }
  for (auto& stream : streams) stream->synchronize(kDeadline);
  for (const Buffer& result : results) {
    for (int round = 0; round < kRounds; ++round) {
      const Span kept = result.slice(kCount * 4 * static_cast<std::size_t>(round), kCount * 4);
      const bool one = size() == 1;
      expect(kept, one ? digits(DType::int32, 1, seed(round, 0))
                       : reduced(DType::int32, Reduction::sum, size(), seed(round, 0)));
    }
  }
}

// What is pushed to a peer has arrived when the peer's own exchange ends.
TEST_P(Meetings, EndWhenPeersHaveWritten) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  make_words();
  constexpr std::size_t kBytes = 3 << 20;
  std::vector<Buffer> from, to;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<PreparedExchange>> prepared;
  for (int i = 0; i < size(); ++i) {
    from.push_back(filled(device(i), kBytes, pattern(static_cast<std::uint64_t>(i))));
    to.push_back(filled(device(i), kBytes, constant(0)));
    streams.push_back(device(i).make_stream());
  }
  for (int i = 0; i < size(); ++i) {
    const std::size_t right = static_cast<std::size_t>((i + 1) % size());
    Exchange exchange = meeting(i);
    exchange.items = {{{from[static_cast<std::size_t>(i)].span()}, {to[right].span()}}};
    prepared.push_back(device(i).prepare(exchange));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->exchange(*prepared[i]);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i]->synchronize(kDeadline);
    const std::size_t left = (i + streams.size() - 1) % streams.size();
    expect(to[i].span(), pattern(left));
  }
}

// Moves of one exchange go on beside each other: more of them than a block has warps, of sizes and
// alignments of their own.
TEST_P(Meetings, MakeManyMovesSideBySide) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  make_words();
  constexpr std::size_t kMoves = 31, kRoom = 200000;
  std::vector<Buffer> from, to;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<PreparedExchange>> prepared;
  const auto bytes = [](std::size_t move) { return move * move * 199 % kRoom; };
  for (int i = 0; i < size(); ++i) {
    from.push_back(filled(device(i), kMoves * kRoom, pattern(static_cast<std::uint64_t>(i))));
    to.push_back(filled(device(i), kMoves * kRoom, constant(0)));
    streams.push_back(device(i).make_stream());
  }
  for (int i = 0; i < size(); ++i) {
    Exchange exchange = meeting(i);
    const std::size_t right = static_cast<std::size_t>((i + 1) % size());
    for (std::size_t move = 0; move < kMoves; ++move) {
      exchange.items.push_back(
          {{from[static_cast<std::size_t>(i)].slice(move * kRoom, bytes(move))},
           {to[right].slice(move * kRoom + move % 3, bytes(move))}});
    }
    prepared.push_back(device(i).prepare(exchange));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->exchange(*prepared[i]);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i]->synchronize(kDeadline);
    const std::size_t left = (i + streams.size() - 1) % streams.size();
    for (std::size_t move = 0; move < kMoves; ++move) {
      expect(to[i].slice(move * kRoom + move % 3, bytes(move)), pattern(left, move * kRoom));
    }
  }
}

TEST_P(Meetings, GoOnWhenThePeerIsGone) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  make_words();
  const auto prepared = device().prepare(meeting(0));
  auto stream = device().make_stream();
  stream->exchange(*prepared);
  EXPECT_FALSE(stream->idle());
  for (int by = 1; by < size(); ++by) {
    for (int block = 0; block < kBlocks; ++block) {
      const Span word = words(0, by).slice(static_cast<std::size_t>(block) * 8, 8);
      device().signal({word}, ~std::uint64_t{0});
    }
  }
  stream->synchronize(kDeadline);
}

DUET_CONFORMANCE(Exchanges);
DUET_CONFORMANCE(Meetings);

}  // namespace
}  // namespace duet::conformance
