// Kernels without peers: reducing and copying in one launch.

#include "kernels.h"

namespace duet::conformance {
namespace {

TEST_P(Kernels, ReduceEveryTypeByEveryOperation) {
  for (const DType dtype : kReduced) {
    for (const Reduction op : all_reductions()) {
      const std::size_t count = 5003;
      const std::vector<Span> sources = inputs(dtype, 3, count, 0);
      const Buffer result = device().allocate(count * size_of(dtype));
      run(device(), local_kernel({{sources, {result.span()}}}, dtype, op));
      expect(result.span(), reduced(dtype, op, 3));
      kept_.clear();
    }
  }
}

TEST_P(Kernels, ReduceAnyNumberOfSources) {
  for (const DType dtype : kReduced) {
    for (const int ranks : {2, 4, 5, 8, 9, 17}) {
      const std::vector<Span> sources = inputs(dtype, ranks, 4099, 0);
      const Buffer result = device().allocate(4099 * size_of(dtype));
      run(device(), local_kernel({{sources, {result.span()}}}, dtype, Reduction::avg, 3));
      expect(result.span(), reduced(dtype, Reduction::avg, ranks));
      kept_.clear();
    }
  }
}

TEST_P(Kernels, ReduceOddSizesAndAlignments) {
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    const std::size_t size = size_of(dtype);
    for (const std::size_t count : {0u, 1u, 7u, 4097u, 600011u}) {
      for (const std::size_t shift : {0u, 1u, 3u}) {
        const std::vector<Span> sources = inputs(dtype, 4, count, shift);
        const Buffer room = device().allocate((count + 8) * size);
        for (const std::size_t to : {shift, shift + 2}) {
          const Span result = room.slice(to * size, count * size);
          run(device(), local_kernel({{sources, {result}}}, dtype, Reduction::sum, 5));
          expect(result, reduced(dtype, Reduction::sum, 4));
        }
        kept_.clear();
      }
    }
  }
}

TEST_P(Kernels, LeaveWhatLiesBesideAlone) {
  const std::vector<Span> sources = inputs(DType::bf16, 2, 3001, 1);
  const Buffer room = filled(device(), 3001 * 2 + 20, constant(0x5A));
  run(device(), local_kernel({{sources, {room.slice(10, 3001 * 2)}}}, DType::bf16, Reduction::sum));
  expect(room.slice(10, 3001 * 2), reduced(DType::bf16, Reduction::sum, 2));
  expect(room.slice(0, 10), constant(0x5A));
  expect(room.slice(10 + 3001 * 2, 10), constant(0x5A));
}

TEST_P(Kernels, ReduceInPlaceAndToSeveralDestinations) {
  const std::vector<Span> sources = inputs(DType::fp16, 3, 70001, 0);
  const Buffer there = peer().allocate(70001 * 2);
  const std::vector<Span> destinations = {there.span(), sources[1]};
  run(device(), local_kernel({{sources, destinations}}, DType::fp16, Reduction::sum));
  expect(there.span(), reduced(DType::fp16, Reduction::sum, 3));
  expect(sources[1], reduced(DType::fp16, Reduction::sum, 3));
}

// What peers send is the second of two inputs, and where it is added lies there.
TEST_P(Kernels, AddToPeers) {
  for (const DType dtype : kReduced) {
    const std::size_t size = size_of(dtype);
    for (const std::size_t count : {0u, 1u, 7u, 4097u, 600011u}) {
      for (const std::size_t shift : {0u, 3u}) {
        const std::vector<Span> both = inputs(dtype, 2, count, shift);
        const Buffer room = filled(peer(), (count + 8) * size, constant(0x5A));
        for (const std::size_t to : {shift, shift + 1}) {
          const Span there = room.slice(to * size, count * size);
          const auto stream = device().make_stream();
          stream->copy({there, both[0], Executor::dma, {}});
          stream->synchronize(kDeadline);
          LocalKernel kernel =
              local_kernel({{{there, both[1]}, {there}}}, dtype, Reduction::sum, 5);
          kernel.adds = true;
          run(device(), kernel);
          expect(there, reduced(dtype, Reduction::sum, 2));
        }
        expect(room.slice(0, shift * size), constant(0x5A));
        expect(room.slice((count + shift + 1) * size, (7 - shift) * size), constant(0x5A));
        kept_.clear();
      }
    }
  }
}

TEST_P(Kernels, CopyBytesToSeveralDestinations) {
  for (const std::size_t bytes : {0u, 1u, 17u, 8193u, 3000001u}) {
    for (const std::size_t shift : {0u, 1u, 2u, 4u}) {
      const Buffer source = filled(device(), bytes + 16, pattern(7));
      const Buffer here = device().allocate(bytes + 16), there = peer().allocate(bytes + 16);
      const std::vector<Span> to = {here.slice(shift, bytes), there.slice(0, bytes)};
      run(device(),
          local_kernel({{{source.slice(0, bytes)}, to}}, DType::fp8_e4m3, Reduction::sum));
      for (const Span& each : to) expect(each, pattern(7));
    }
  }
}

TEST_P(Kernels, TakeSeveralItems) {
  const std::vector<Span> sources = inputs(DType::fp32, 2, 30001, 0);
  const Buffer sum = device().allocate(30001 * 4), copy = device().allocate(999);
  const Buffer bytes = filled(device(), 999, pattern(3));
  run(device(), local_kernel({{sources, {sum.span()}}, {{bytes.span()}, {copy.span()}}},
                             DType::fp32, Reduction::max));
  expect(sum.span(), reduced(DType::fp32, Reduction::max, 2));
  expect(copy.span(), pattern(3));
}

TEST_P(Kernels, RefuseWhatDoesNotFit) {
  const Buffer room = device().allocate(1024);
  const Span a = room.slice(0, 64), b = room.slice(64, 64), c = room.slice(128, 32);
  const auto refuse = [&](const CollectiveKernel& kernel) {
    EXPECT_THROW(device().prepare(kernel), BadArgument);
  };
  const auto refuse_item = [&](const KernelItem& item, DType dtype = DType::fp32) {
    refuse(local_kernel({item}, dtype, Reduction::sum));
    refuse(PeerKernel{{item}, dtype, Reduction::sum, 0, {}, {}});
  };
  refuse_item({{a, b}, {c}});
  refuse_item({{a}, {}});
  refuse_item({{}, {a}});
  refuse_item({{a, b}, {a}}, DType::fp8_e4m3);
  refuse_item({{a, room.slice(66, 64)}, {a}});
  refuse_item({{room.slice(0, 6), room.slice(64, 6)}, {room.slice(128, 6)}});
  refuse(local_kernel({}, DType::fp32, Reduction::sum, -1));
  const Span word = room.slice(256, 8);
  refuse(PeerKernel{{}, DType::fp32, Reduction::sum, 0, {word}, {word}});
  refuse(PeerKernel{{}, DType::fp32, Reduction::sum, 2, {word}, {word}});
  refuse(PeerKernel{{}, DType::fp32, Reduction::sum, 1, {word}, {}});
  LocalKernel by_block = local_kernel({{{a}, {b}}}, DType::fp32, Reduction::sum);
  by_block.semaphores_by_block = true;
  refuse(by_block);
  by_block.blocks = 2;
  by_block.items.front().waits = {Semaphore{word}};
  refuse(by_block);
  const auto refuse_addition = [&](const KernelItem& item, Reduction op) {
    LocalKernel adding = local_kernel({item}, DType::fp32, op);
    adding.adds = true;
    refuse(adding);
  };
  refuse_addition({{a, b}, {b}}, Reduction::sum);
  refuse_addition({{a}, {a}}, Reduction::sum);
  refuse_addition({{a, b}, {a}}, Reduction::max);
}

// The awaited semaphores already have the values that all peers would write for both barriers.
TEST_P(Kernels, WaitForAnyNumberOfPeers) {
  constexpr int kPeers = 40, kBlocks = 2, kRanks = kPeers + 1;
  constexpr std::size_t kWords = kBlocks * sizeof(std::uint64_t), kCount = 3001;
  const std::vector<std::uint64_t> come(kPeers * kBlocks, 2);
  const Buffer awaited = device().allocate_coherent(kPeers * kWords);
  device().write(awaited.span(), come.data());
  const Buffer told = filled(peer(), kPeers * kWords, constant(0));
  PeerKernel kernel{{}, DType::int32, Reduction::sum, kBlocks, {}, {}};
  for (std::size_t i = 0; i < kPeers; ++i) {
    kernel.arrivals.push_back(told.slice(i * kWords, kWords));
    kernel.awaits.push_back(awaited.slice(i * kWords, kWords));
  }
  const Buffer sums = filled(peer(), kRanks * kCount * 4, constant(0));
  const Buffer bytes = filled(device(), 999, pattern(3));
  const Buffer copies = filled(peer(), kRanks * 1000, constant(0));
  KernelItem sum{inputs(DType::int32, kRanks, kCount, 0), {}}, copy{{bytes.span()}, {}};
  for (std::size_t i = 0; i < kRanks; ++i) {
    sum.destinations.push_back(sums.slice(i * kCount * 4, kCount * 4));
    copy.destinations.push_back(copies.slice(i * 1000, 999));
  }
  kernel.items = {sum, copy};
  run(device(), kernel);
  for (const Span& each : sum.destinations) {
    expect(each, reduced(DType::int32, Reduction::sum, kRanks));
  }
  for (const Span& each : copy.destinations) expect(each, pattern(3));
  std::vector<std::uint64_t> words(come.size());
  peer().read(told.span(), words.data());
  for (std::size_t i = 0; i < kPeers; ++i) EXPECT_EQ(words[i * kBlocks], 2u) << "peer " << i;
}

TEST_P(Kernels, BelongToTheirDevice) {
  if (!two_devices()) GTEST_SKIP() << "one device";
  const auto prepared = device().prepare(LocalKernel{});
  auto stream = peer().make_stream();
  EXPECT_THROW(stream->launch(*prepared), BadArgument);
}

DUET_CONFORMANCE(Kernels);

}  // namespace
}  // namespace duet::conformance
