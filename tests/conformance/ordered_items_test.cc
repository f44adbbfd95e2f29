// Kernels whose items synchronise with other streams, and with blocks of kernels on other devices.
#include "kernels.h"

namespace duet::conformance {
namespace {

class OrderedItems : public Kernels {};

// A stream of the peer pushes pieces into two slots alternately. Each item reduces a pushed piece
// with the device's own piece, and signals that the slot is free. Many rounds with the same
// semaphores, which each round leaves as it found them.
TEST_P(OrderedItems, SynchroniseWithAnotherStream) {
  constexpr std::size_t kPieces = 15, kPiece = 8192 * 4, kRounds = 30;
  const Buffer words = zeroed(device(), 2 * sizeof(std::uint64_t));
  const Buffer back = zeroed(peer(), 2 * sizeof(std::uint64_t));
  const Buffer own = device().allocate(kPieces * kPiece), slots = zeroed(device(), 2 * kPiece);
  const Buffer theirs = peer().allocate(kPieces * kPiece);
  const Buffer result = device().allocate(kRounds * kPieces * kPiece);
  auto stream = device().make_stream(), pushes = peer().make_stream();
  for (std::size_t slot = 0; slot < 2; ++slot) peer().signal(semaphore_at(back, slot), 1);
  std::vector<std::unique_ptr<PreparedKernel>> prepared;
  for (std::size_t round = 0; round < kRounds; ++round) {
    LocalKernel kernel;
    kernel.dtype = DType::int32;
    kernel.blocks = 16;  // each processes a slice of an item, then goes on to the next item
    for (std::size_t i = 0; i < kPieces; ++i) {
      const Span to = result.slice((round * kPieces + i) * kPiece, kPiece);
      kernel.items.push_back(
          {{{own.slice(i * kPiece, kPiece), slots.slice(i % 2 * kPiece, kPiece)}, {to}},
           {semaphore_at(words, i % 2)},
           {semaphore_at(back, i % 2)}});
    }
    prepared.push_back(device().prepare(kernel));
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    stream->fill(own.span(), digits(DType::int32, 2, 2 * round));
    stream->launch(*prepared[round]);
    pushes->fill(theirs.span(), digits(DType::int32, 2, 2 * round + 1));
    for (std::size_t i = 0; i < kPieces; ++i) {
      pushes->handshake({{}, {semaphore_at(back, i % 2)}});
      pushes->copy({slots.slice(i % 2 * kPiece, kPiece),
                    theirs.slice(i * kPiece, kPiece),
                    Executor::dma,
                    {}});
      pushes->handshake({{semaphore_at(words, i % 2)}, {}});
    }
  }
  pushes->synchronize(kDeadline);
  stream->synchronize(kDeadline);
  for (std::size_t round = 0; round < kRounds; ++round) {
    expect(result.slice(round * kPieces * kPiece, kPieces * kPiece),
           reduced(DType::int32, Reduction::sum, 2, 2 * round));
  }
}

// Pieces are copied to the peer, and a kernel there copies each on as soon as it arrives, block by
// block. Many rounds with the same semaphores.
TEST_P(OrderedItems, PassPiecesOnBlockByBlock) {
  constexpr int kBlocks = 8, kPieces = 5, kRounds = 20;
  constexpr std::size_t kWords = kBlocks * sizeof(std::uint64_t), kPiece = 100003;
  const Buffer words = zeroed(device(), kWords);
  const Buffer there = zeroed(peer(), (kPieces + 1) * kWords);
  const Buffer back = zeroed(device(), kPieces * kWords);
  const Buffer from = device().allocate(kPieces * kPiece), at = peer().allocate(kPieces * kPiece),
               to = device().allocate(kPieces * kPiece);
  const Semaphore ready{words.span()}, taken{there.slice(kPieces * kWords, kWords)};
  LocalKernel first, second, third;
  second.items.push_back({{}, {}, {ready}});
  third.items = {{{}, {}, {taken}}, {}};
  for (std::size_t i = 0; i < kPieces; ++i) {
    const Semaphore come{there.slice(i * kWords, kWords)}, gone{back.slice(i * kWords, kWords)};
    const auto piece = [i](const Buffer& buffer) { return buffer.slice(i * kPiece, kPiece); };
    first.items.push_back({{{piece(from)}, {piece(at)}}, {}, {come}});
    if (i == 0) first.items.front().waits = {ready};
    second.items.push_back({{{piece(at)}, {piece(to)}}, {come}, {gone}});
    if (i == 0) second.items.back().waits.push_back(taken);
    third.items.back().waits.push_back(gone);
  }
  std::vector<std::unique_ptr<PreparedKernel>> prepared;
  for (LocalKernel* kernel : {&first, &second, &third}) {
    kernel->blocks = kBlocks;
    kernel->semaphores_by_block = true;
    Device& on = kernel == &second ? peer() : device();
    prepared.push_back(on.prepare(*kernel));
  }
  const Buffer kept = device().allocate(kRounds * to.bytes());
  auto sends = device().make_stream(), passes = peer().make_stream(),
       receives = device().make_stream();
  for (std::size_t round = 0; round < kRounds; ++round) {
    sends->fill(from.span(), pattern(round));
    sends->launch(*prepared[0]);
    passes->launch(*prepared[1]);
    receives->launch(*prepared[2]);
    receives->copy({kept.slice(round * to.bytes(), to.bytes()), to.span(), Executor::dma, {}});
  }
  for (const auto& stream : {&sends, &passes, &receives}) (*stream)->synchronize(kDeadline);
  for (std::size_t round = 0; round < kRounds; ++round) {
    expect(kept.slice(round * to.bytes(), to.bytes()), pattern(round));
  }
}

DUET_CONFORMANCE(OrderedItems);

}  // namespace
}  // namespace duet::conformance
