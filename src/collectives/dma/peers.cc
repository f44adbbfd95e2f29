// Flags and buffers between ranks.
#include "collectives/dma/peers.h"

#include <limits>

namespace duet {
namespace {

Buffer zeroed_words(Device& device, int count) {
  const std::vector<std::uint64_t> zeros(static_cast<std::size_t>(count), 0);
  Buffer words = device.allocate(zeros.size() * sizeof(std::uint64_t));
  device.write(words.span(), zeros.data());
  return words;
}

}  // namespace

Peers::Peers(Rank& rank, const Span& recv)
    : rank_(rank.index),
      device_(rank.device),
      own_words_(zeroed_words(rank.device, 2 * rank.size)),
      words_(rank, own_words_.span(), "the other ranks' flags"),
      recv_(rank, recv, "the other ranks' receive buffers") {}

Flag Peers::word(int owner, int index) const {
  constexpr std::size_t size = sizeof(std::uint64_t);
  return {words_.at(owner).slice(static_cast<std::size_t>(index) * size, size)};
}

void Peers::release_waits() noexcept {
  constexpr std::uint64_t kReleased = std::numeric_limits<std::int64_t>::max();
  for (int index = 0; index < 2 * size(); ++index) {
    try {
      device_.signal(word(rank_, index), kReleased);
    } catch (const std::exception&) {
      return;  // the device is gone, and its streams with it
    }
  }
}

}  // namespace duet
