// Memory of simulated machines: phantom buffers, capacity, contents.
#include "device/sim/sim_fixture.h"

namespace duet::sim {
namespace {

TEST_F(Sim, LargeBuffersArePhantom) {
  open("mi300x-8");
  const Buffer large = device(0).allocate(kGiB), other = device(0).allocate(kGiB);
  const Buffer small = device(0).allocate(4096);
  EXPECT_FALSE(device(0).has_contents(large.span()));
  EXPECT_FALSE(device(0).has_contents(large.slice(0, 64)));
  EXPECT_TRUE(device(0).has_contents(small.span()));
  EXPECT_NE(large.span().data, other.span().data);
  char byte = 0;
  EXPECT_THROW(device(0).read(large.slice(5, 1), &byte), BadArgument);
  EXPECT_THROW(device(0).write(large.slice(5, 1), &byte), BadArgument);
  EXPECT_THROW(device(0).check(large.span(), {}), BadArgument);
  EXPECT_THROW(device(0).signal(semaphore_at(large, 0), 1), BadArgument);
  auto stream = device(0).make_stream();
  EXPECT_THROW(stream->wait(semaphore_at(large, 0), 1), BadArgument);
  stream->fill(large.span(), {});
  stream->copy({large.slice(0, 4096), small.span(), Executor::dma, {}});
  stream->copy({small.span(), large.slice(7, 4096), Executor::dma, {}});
  stream->synchronize(kDeadline);
  EXPECT_FALSE(device(0).check(small.span(), {FillKind::constant, 0xDB, 0, DType::fp32}));
}

// Bytes that pass through a phantom buffer are lost. Buffers that received them have no contents
// until they are filled again.
TEST_F(Sim, WhatWasLostOnItsWayIsNotHeld) {
  open("h200-4");
  const Buffer from = device(0).allocate(4096), way = device(1).allocate(kGiB);
  const Buffer to = device(1).allocate(4096), next = device(1).allocate(4096);
  auto first = device(0).make_stream();
  first->fill(from.span(), {});
  first->copy({way.slice(0, 4096), from.span(), Executor::dma, {}});
  first->synchronize(kDeadline);
  auto second = device(1).make_stream();
  second->copy({to.span(), way.slice(0, 4096), Executor::dma, {}});
  second->copy({next.span(), to.span(), Executor::kernel, {}});
  second->synchronize(kDeadline);
  EXPECT_TRUE(device(0).has_contents(from.span()));
  EXPECT_FALSE(device(1).has_contents(to.span()));
  EXPECT_FALSE(device(1).has_contents(next.span()));
  second->fill(to.slice(0, 64), {});
  second->fill(next.span(), {});
  second->synchronize(kDeadline);
  EXPECT_FALSE(device(1).has_contents(to.span()));
  EXPECT_TRUE(device(1).has_contents(next.span()));
}

// A fill that would change nothing is left out; one after a write, a copy or a part's fill is not.
TEST_F(Sim, RepeatedFillsLeaveTheirContents) {
  open("h200-4");
  const Fill poison{FillKind::constant, 0xDB, 0, DType::fp32}, other{FillKind::constant, 7};
  const Buffer buffer = device(0).allocate(4096), source = device(0).allocate(4096);
  const auto stream = device(0).make_stream();
  const auto fill = [&](const Span& span, const Fill& with) {
    stream->fill(span, with);
    stream->synchronize(kDeadline);
  };
  fill(source.span(), other);
  fill(buffer.span(), poison);
  fill(buffer.span(), poison);
  EXPECT_FALSE(device(0).check(buffer.span(), poison));
  const std::vector<std::byte> zeros(4096);
  device(0).write(buffer.span(), zeros.data());
  fill(buffer.span(), poison);
  EXPECT_FALSE(device(0).check(buffer.span(), poison));
  stream->copy({buffer.span(), source.span(), Executor::dma, {}});
  fill(buffer.span(), poison);
  EXPECT_FALSE(device(0).check(buffer.span(), poison));
  fill(buffer.slice(0, 64), other);
  fill(buffer.span(), poison);
  EXPECT_FALSE(device(0).check(buffer.span(), poison));
}

// What is remembered of one comparison serves another only where it is of the same digits.
TEST_F(Sim, ComparesReducedDigits) {
  open("h200-4");
  Fill digits{FillKind::digits_reduced, 5};
  digits.ranks = 4;
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    for (const std::uint64_t offset : {0, 4096}) {
      digits.dtype = dtype;
      digits.offset = offset;
      for (int i = 0; i < 2; ++i) {
        const Buffer buffer = device(i).allocate(4096);
        const auto stream = device(i).make_stream();
        stream->fill(buffer.span(), digits);
        stream->synchronize(kDeadline);
        EXPECT_FALSE(device(i).check(buffer.span(), digits));
        std::uint32_t wrong = 0x12345678;
        device(i).write(buffer.slice(64, 4), &wrong);
        const auto difference = device(i).check(buffer.span(), digits);
        ASSERT_TRUE(difference);
        EXPECT_EQ(difference->first_offset, 64u);
        Fill next = digits;
        ++next.seed;
        EXPECT_TRUE(device(i).check(buffer.span(), next));
      }
    }
  }
}

// Equal allocations on all devices are real on all or on none.
TEST_F(Sim, DevicesHoldEqualParts) {
  open("p5-48xlarge:nodes=8");
  std::vector<Buffer> buffers;
  int real = 0;
  for (int i = 0; i < 64; ++i) {
    bool all = true;
    for (int k = 0; k < 5; ++k) {
      buffers.push_back(device(i).allocate(8 << 20));
      real += device(i).has_contents(buffers.back().span());
      all = all && device(i).has_contents(buffers.back().span());
    }
    EXPECT_FALSE(all) << i;
  }
  EXPECT_EQ(real, 64 * 4);
}

TEST_F(Sim, SpansMustLieInABufferOfTheMachine) {
  open("h200-4");
  const Buffer buffer = device(0).allocate(4096);
  auto stream = device(0).make_stream();
  Span beyond = buffer.span();
  beyond.bytes = 4097;
  EXPECT_THROW(stream->fill(beyond, {}), BadArgument);
  Span elsewhere = buffer.span();
  elsewhere.owner = &device(1);
  EXPECT_THROW(stream->fill(elsewhere, {}), BadArgument);
  Span null{&device(0), nullptr, 16, MemoryKind::device};
  EXPECT_THROW(stream->fill(null, {}), BadArgument);
  auto twin = open_machine("sim:h200-4");
  EXPECT_THROW(stream->fill(twin->device(0).allocate(64).span(), {}), BadArgument);
  EXPECT_THROW(stream->run({"t", {-1, DType::bf16, 0, 0, 1}, {}}), BadArgument);
  EXPECT_THROW(stream->run({"t", {1, DType::bf16, 0, 0, 1.5}, {}}), BadArgument);
  EXPECT_THROW(stream->run({"t", {1, DType::int32, 0, 0, 1}, {}}), Unavailable);
  stream->fill(buffer.span(), {});
  stream->synchronize(kDeadline);
}

TEST_F(Sim, MemoryIsCounted) {
  open("h200-4");
  const std::uint64_t most = device(0).info().memory_bytes / 2 + 512;
  Buffer half = device(0).allocate(most);
  EXPECT_THROW(device(0).allocate(most), OutOfMemory);
  EXPECT_EQ(device(1).allocate(most).bytes(), most);
  EXPECT_EQ(device(0).allocate(most, MemoryKind::pinned).bytes(), most);
  half.reset();
  EXPECT_EQ(device(0).allocate(most).bytes(), most);
}

// The simulator skips a copy that would change nothing, but none after a change.
TEST_F(Sim, RepeatedCopiesSeeEveryChange) {
  open("h200-4");
  const Buffer from = device(0).allocate(4096), to = device(1).allocate(4096);
  auto stream = device(0).make_stream();
  const auto copied = [&](std::uint64_t seed) {
    stream->copy({to.span(), from.span(), Executor::dma, {}});
    stream->copy({to.span(), from.span(), Executor::dma, {}});
    stream->synchronize(kDeadline);
    return !device(1).check(to.span(), {FillKind::pattern, seed, 0, DType::fp32}).has_value();
  };
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    stream->fill(from.span(), {FillKind::pattern, seed, 0, DType::fp32});
    EXPECT_TRUE(copied(seed));
    auto other = device(1).make_stream();
    other->fill(to.span(), {FillKind::constant, 0, 0, DType::fp32});
    other->synchronize(kDeadline);
    EXPECT_TRUE(copied(seed));
  }
}

}  // namespace
}  // namespace duet::sim
