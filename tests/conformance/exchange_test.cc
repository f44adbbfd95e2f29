// Exchanges without peers: reducing and copying in one launch.

#include "exchanges.h"

namespace duet::conformance {
namespace {

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
  const Semaphore semaphore{word};
  refuse({{{{a}, {b}, {semaphore}, {}}}, DType::fp32, Reduction::sum, 1, {word}, {word}});
}

// Words that await peers are as if all had come, to both meetings.
TEST_P(Exchanges, MeetAnyNumberOfPeers) {
  constexpr int kPeers = 40, kBlocks = 2, kRanks = kPeers + 1;
  constexpr std::size_t kWords = kBlocks * sizeof(std::uint64_t), kCount = 3001;
  const std::vector<std::uint64_t> come(kPeers * kBlocks, 2);
  const Buffer awaited = device().allocate(kPeers * kWords);
  device().write(awaited.span(), come.data());
  const Buffer told = filled(peer(), kPeers * kWords, constant(0));
  Exchange exchange{{}, DType::int32, Reduction::sum, kBlocks, {}, {}};
  for (std::size_t i = 0; i < kPeers; ++i) {
    exchange.arrivals.push_back(told.slice(i * kWords, kWords));
    exchange.awaits.push_back(awaited.slice(i * kWords, kWords));
  }
  const Buffer sums = filled(peer(), kRanks * kCount * 4, constant(0));
  const Buffer bytes = filled(device(), 999, pattern(3));
  const Buffer copies = filled(peer(), kRanks * 1000, constant(0));
  ExchangeItem sum{inputs(DType::int32, kRanks, kCount, 0), {}}, copy{{bytes.span()}, {}};
  for (std::size_t i = 0; i < kRanks; ++i) {
    sum.destinations.push_back(sums.slice(i * kCount * 4, kCount * 4));
    copy.destinations.push_back(copies.slice(i * 1000, 999));
  }
  exchange.items = {sum, copy};
  run(device(), exchange);
  for (const Span& each : sum.destinations) {
    expect(each, reduced(DType::int32, Reduction::sum, kRanks));
  }
  for (const Span& each : copy.destinations) expect(each, pattern(3));
  std::vector<std::uint64_t> words(come.size());
  peer().read(told.span(), words.data());
  for (std::size_t i = 0; i < kPeers; ++i) EXPECT_EQ(words[i * kBlocks], 2u) << "peer " << i;
}

TEST_P(Exchanges, BelongToTheirDevice) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  const auto prepared = device().prepare({});
  auto stream = peer().make_stream();
  EXPECT_THROW(stream->exchange(*prepared), BadArgument);
}

DUET_CONFORMANCE(Exchanges);

}  // namespace
}  // namespace duet::conformance
