// Copies between every kind of memory, by every executor, at odd sizes and offsets.
#include <cstring>

#include "devices.h"

namespace duet::conformance {
namespace {

class Copies : public DeviceTest {
 protected:
  // Those that address both devices' memory.
  std::vector<Executor> executors() {
    std::vector<Executor> all{Executor::dma, Executor::kernel};
    if (device().info().kind == "hip") all.push_back(Executor::sdma);
    return all;
  }

  // Copies [from_offset, +bytes) of a pattern to `to_offset` of poisoned memory and checks that
  // exactly this was written.
  void copy_and_check(Stream& stream, const Buffer& source, const Buffer& destination,
                      const Copy& how, std::size_t from_offset, std::size_t to_offset,
                      std::size_t bytes) {
    Device& owner = *destination.span().owner;
    auto poison = owner.make_stream();
    poison->fill(destination.span(), constant(0xAB));
    poison->synchronize(kDeadline);
    Copy copy = how;
    copy.source = source.slice(from_offset, bytes);
    copy.destination = destination.slice(to_offset, bytes);
    stream.copy(copy);
    stream.synchronize(kDeadline);
    EXPECT_FALSE(owner.check(copy.destination, pattern(7, from_offset)).has_value());
    EXPECT_FALSE(owner.check(destination.slice(0, to_offset), constant(0xAB)).has_value());
    const std::size_t end = to_offset + bytes;
    EXPECT_FALSE(
        owner.check(destination.slice(end, destination.bytes() - end), constant(0xAB)).has_value());
  }
};

constexpr std::size_t kBytes = 70001;
struct Piece {
  std::size_t from, to, bytes;
};
constexpr Piece kPieces[] = {{0, 0, 0},    {0, 0, 1},     {0, 0, 4096},    {1, 0, 4095},
                             {0, 3, 4097}, {5, 9, 8191},  {16, 16, 65536}, {8, 16, 65536},
                             {4, 8, 64},   {3, 3, 69001}, {13, 2, 17},     {0, 0, kBytes}};

TEST_P(Copies, OfOddSizesAndOffsetsToPeersPushedAndPulled) {
  const Buffer source = filled(device(), kBytes, pattern(7));
  const Buffer destination = peer().allocate(kBytes);
  for (Executor executor : executors()) {
    for (Device* issuer : {&device(), &peer()}) {
      auto stream = issuer->make_stream();
      for (const Piece& piece : kPieces) {
        SCOPED_TRACE(::testing::Message() << name(executor) << " by " << issuer->info().name << " "
                                          << piece.from << " " << piece.to << " " << piece.bytes);
        copy_and_check(*stream, source, destination, {{}, {}, executor, {}}, piece.from, piece.to,
                       piece.bytes);
      }
    }
  }
}

TEST_P(Copies, BetweenHostAndDevice) {
  for (MemoryKind kind : {MemoryKind::pinned, MemoryKind::pageable}) {
    SCOPED_TRACE(name(kind));
    auto stream = device().make_stream();
    const Buffer host = filled(device(), kBytes, pattern(7), kind);
    const Buffer there = device().allocate(kBytes);
    const Buffer back = device().allocate(kBytes, kind);
    for (const Piece& piece : kPieces) {
      copy_and_check(*stream, host, there, {}, piece.from, piece.to, piece.bytes);
    }
    const Buffer on_device = filled(device(), kBytes, pattern(7));
    for (const Piece& piece : kPieces) {
      copy_and_check(*stream, on_device, back, {}, piece.from, piece.to, piece.bytes);
    }
  }
}

TEST_P(Copies, BetweenHostAndDeviceByChosenEngines) {
  const Buffer host = filled(device(), kBytes, pattern(7), MemoryKind::pinned);
  const Buffer there = device().allocate(kBytes);
  auto stream = device().make_stream();
  const Copy copy{there.span(), host.span(), Executor::sdma, {}};
  if (device().info().kind != "hip") {
    EXPECT_THROW(stream->copy(copy), Unavailable);
    EXPECT_THROW(device().copy_engine(copy), Unavailable);
    return;
  }
  const Buffer back = device().allocate(kBytes, MemoryKind::pinned);
  const Buffer on_device = filled(device(), kBytes, pattern(7));
  for (const Piece& piece : kPieces) {
    copy_and_check(*stream, host, there, {{}, {}, Executor::sdma, {}}, piece.from, piece.to,
                   piece.bytes);
    copy_and_check(*stream, on_device, back, {{}, {}, Executor::sdma, {}}, piece.from, piece.to,
                   piece.bytes);
  }
}

// Each round copies what a kernel has just written, and another kernel reads what has just arrived.
TEST_P(Copies, ByEveryExecutorInStreamOrder) {
  const Buffer source = device().allocate(kBytes), landing = device().allocate(kBytes);
  const Buffer seen = device().allocate(kBytes);
  auto stream = device().make_stream();
  for (Executor executor : executors()) {
    SCOPED_TRACE(name(executor));
    for (std::uint64_t round = 1; round <= 10; ++round) {
      stream->fill(source.span(), pattern(round));
      stream->copy({landing.span(), source.span(), executor, {}});
      stream->copy({seen.span(), landing.span(), Executor::kernel, {}});
      stream->fill(landing.span(), constant(0));
      stream->synchronize(kDeadline);
      ASSERT_FALSE(device().check(seen.span(), pattern(round)).has_value()) << round;
    }
  }
}

TEST_P(Copies, ByKernelsOfGivenShapes) {
  const Buffer source = filled(device(), kBytes, pattern(7));
  const Buffer destination = peer().allocate(kBytes);
  auto stream = device().make_stream();
  for (KernelShape shape : {KernelShape{1, 32}, KernelShape{3, 256}, KernelShape{16, 1024}}) {
    SCOPED_TRACE(shape.grid);
    copy_and_check(*stream, source, destination, {{}, {}, Executor::kernel, shape}, 3, 5, 66001);
  }
}

TEST_P(Copies, LargeEnoughToBeSplit) {
  constexpr std::size_t kLarge = (9 << 20) + 3;
  const Buffer source = filled(device(), kLarge, pattern(7));
  const Buffer destination = peer().allocate(kLarge);
  auto stream = device().make_stream();
  for (Executor executor : executors()) {
    copy_and_check(*stream, source, destination, {{}, {}, executor, {}}, 1, 2, kLarge - 3);
  }
}

TEST_P(Copies, WithinADevice) {
  const Buffer source = filled(device(), kBytes, pattern(7));
  const Buffer destination = device().allocate(kBytes);
  auto stream = device().make_stream();
  for (Executor executor : executors()) {
    copy_and_check(*stream, source, destination, {{}, {}, executor, {}}, 3, 1, 65000);
  }
  Copy thin{{}, {}, Executor::kernel, {}};
  thin.shape.one_warp_per_sm = true;
  for (const Piece& piece : kPieces) {
    SCOPED_TRACE(piece.bytes);
    copy_and_check(*stream, source, destination, thin, piece.from, piece.to, piece.bytes);
  }
}

TEST_P(Copies, RefuseBadArgumentsAndLeaveTheStreamUsable) {
  const Buffer source = filled(device(), 4096, pattern(7));
  const Buffer destination = peer().allocate(8192);
  auto stream = device().make_stream();
  EXPECT_THROW(stream->copy({destination.span(), source.span(), Executor::dma, {}}), BadArgument);
  EXPECT_THROW(stream->copy({Span{}, source.span(), Executor::dma, {}}), BadArgument);
  EXPECT_THROW(source.slice(4000, 97), BadArgument);
  EXPECT_THROW(source.slice(4097, 0), BadArgument);
  auto other = open_machine("host");
  const Buffer foreign = other->device(0).allocate(4096);
  EXPECT_THROW(stream->copy({foreign.span(), source.span(), Executor::dma, {}}), BadArgument);
  if (machine_->size() > 2) {
    const Buffer third = machine_->device(1).allocate(4096);
    const Span far = destination.slice(0, 4096);
    EXPECT_THROW(stream->copy({far, third.span(), Executor::dma, {}}), BadArgument);
  }
  copy_and_check(*stream, source, destination, {}, 0, 0, 4096);
}

DUET_CONFORMANCE(Copies);

}  // namespace
}  // namespace duet::conformance
