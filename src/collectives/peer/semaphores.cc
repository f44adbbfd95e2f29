// Semaphores of every rank, and how waits for them are let go.
#include "collectives/peer/semaphores.h"

#include <limits>

namespace duet {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

}  // namespace

Buffer zeroed_semaphores(Device& device, int count) {
  const std::vector<std::uint64_t> zeros(static_cast<std::size_t>(count), 0);
  Buffer words = device.allocate(zeros.size() * kWord);
  if (count > 0) device.write(words.span(), zeros.data());
  return words;
}

Semaphores::Semaphores(Rank& rank, int count)
    : device_(rank.device),
      all_(
          rank, [&] { return zeroed_semaphores(rank.device, count); },
          "the other ranks' semaphores") {}

Span Semaphores::at(int owner, int first, int count) const {
  return all_.at(owner).slice(static_cast<std::size_t>(first) * kWord,
                              static_cast<std::size_t>(count) * kWord);
}

void set_peers(PeerKernel& kernel, const Semaphores& words, int first, int rank, int ranks) {
  const int blocks = kernel.blocks;
  for (int step = 1; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    kernel.arrivals.push_back(words.at(peer, first + rank * blocks, blocks));
    kernel.awaits.push_back(words.at(rank, first + peer * blocks, blocks));
  }
}

// GPUs compare in a circle: the largest signed number is above all that a wait is for.
void Semaphores::release_waits() noexcept {
  constexpr std::uint64_t kReleased = std::numeric_limits<std::int64_t>::max();
  for (std::size_t word = 0; word < all_.own().bytes() / kWord; ++word) {
    try {
      device_.signal(semaphore_at(all_.own(), word), kReleased);
    } catch (const std::exception&) {
      return;  // the device is gone, and its streams with it
    }
  }
}

}  // namespace duet
