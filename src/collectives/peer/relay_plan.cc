// Why calls cannot mix. A rank writes to the next one only after that one has signalled `ready` in
// the same call. It signals `ready` again only after it has received every piece, and so after the
// rank before it has reset `ready`. A piece's semaphore is signalled again only after its reader
// has reset it.
#include "collectives/peer/relay_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace duet {
namespace {

// 1 GiB on 4 x H200: 32 blocks 315 GB/s, 64 348, 128 357; 64 MiB: 269, 266, 264.
constexpr int kMostBlocks = 128;
constexpr std::uint64_t kMostPieces = 256;
constexpr std::uint64_t kRelayGrain = 2048 * kMostBlocks;  // a slice's unit for every block

// The same on every rank, and few enough to run all at once.
int blocks_for(Rank& rank) {
  int blocks = kMostBlocks;
  const auto all = rank.team.gather(rank, std::to_string(rank.device.info().compute_units),
                                    "all ranks to plan a broadcast");
  for (const std::string& units : *all) {
    blocks = std::min(blocks, std::stoi(units));
  }
  return blocks;
}

}  // namespace

std::uint64_t RelayPlan::best_piece(std::uint64_t bytes, int others) {
  // The fixed cost of a piece, as the bytes that take as long.
  constexpr double kPieceCostBytes = 512 << 10;
  const double passes = std::max(1, others - 1);
  const auto best =
      static_cast<std::uint64_t>(std::sqrt(static_cast<double>(bytes) * kPieceCostBytes / passes));
  const std::uint64_t piece = std::max(best, bytes / kMostPieces + 1);
  return (piece + kRelayGrain - 1) / kRelayGrain * kRelayGrain;
}

RelayPlan::RelayPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                     Watchdog& watchdog, std::uint64_t piece_bytes)
    : recv_(rank, buffers.recv, "the other ranks' receive buffers"),
      bytes_(collective.count * size_of(collective.dtype)),
      piece_bytes_(piece_bytes),
      pieces_((bytes_ + piece_bytes - 1) / piece_bytes),
      position_((rank.index - collective.root + rank.size) % rank.size),
      own_(rank.index),
      before_((rank.index + rank.size - 1) % rank.size),
      next_((rank.index + 1) % rank.size),
      blocks_(blocks_for(rank)),
      words_(rank, static_cast<int>(pieces_ + 1) * blocks_),
      watched_(watchdog, words_) {
  LocalKernel kernel;
  kernel.blocks = blocks_;
  kernel.semaphores_by_block = true;
  if (position_ > 0) kernel.items.push_back({{}, {}, {ready(before_)}});
  if (position_ + 1 < rank.size) {
    pass_on(position_ == 0 ? buffers.send : buffers.recv, buffers, kernel);
  } else {
    take_last(kernel);
  }
  prepared_ = rank.device.prepare(kernel);
}

Semaphore RelayPlan::arrived(int owner, std::uint64_t piece) const {
  return {words_.at(owner, static_cast<int>(piece) * blocks_, blocks_)};
}

Semaphore RelayPlan::ready(int owner) const { return arrived(owner, pieces_); }

void RelayPlan::pass_on(const Span& source, const CollectiveBuffers& buffers, LocalKernel& kernel) {
  for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
    const std::uint64_t begin = piece * piece_bytes_;
    const std::uint64_t bytes = std::min(piece_bytes_, bytes_ - begin);
    LocalKernelItem item;
    item.sources = {source.slice(begin, bytes)};
    item.destinations = {recv_.at(next_).slice(begin, bytes)};
    const bool out_of_place = source.data != buffers.recv.data;
    if (out_of_place) item.destinations.push_back(buffers.recv.slice(begin, bytes));
    if (piece == 0) item.waits.push_back(ready(own_));
    if (position_ > 0) item.waits.push_back(arrived(own_, piece));
    item.signals.push_back(arrived(next_, piece));
    kernel.items.push_back(std::move(item));
    add_wire_bytes(bytes);
  }
}

void RelayPlan::take_last(LocalKernel& kernel) const {
  LocalKernelItem item;
  for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
    item.waits.push_back(arrived(own_, piece));
  }
  kernel.items.push_back(std::move(item));
}

void RelayPlan::enqueue(Stream& stream) { stream.launch(*prepared_); }

std::string RelayPlan::algorithm() const {
  return fmt::format("{} pieces passed on from rank to rank by {} blocks", pieces_, blocks_);
}

}  // namespace duet
