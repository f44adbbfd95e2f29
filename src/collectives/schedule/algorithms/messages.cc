#include "collectives/schedule/algorithms/messages.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace duet {
namespace {

// Bytes. Alone on its node a rank forwards nothing, and a message's size matters only where it is
// one copy between GPUs: piece_cut.cc has figures.
constexpr std::uint64_t kLeastPipelined = 4 << 20, kAlone = 64 << 20, kThroughSlots = 8 << 20;

}  // namespace

int messages_in_flight(std::uint64_t largest) { return largest >= kLeastPipelined ? 2 : 4; }

std::uint64_t message_for(std::uint64_t bytes, int node_size) {
  constexpr double kBytesInCopyLatency = 4e-6 * 391e9;  // of a port of H100 and H200
  constexpr double kPart = 1.0 / 3;
  constexpr std::uint64_t kMost = 64 << 20;
  if (node_size == 1) return kAlone;
  const double best = kPart * std::sqrt(static_cast<double>(bytes) * kBytesInCopyLatency);
  return std::clamp(static_cast<std::uint64_t>(best), kLeastPipelined, kMost);
}

std::uint64_t exchange_for(int node_size) { return node_size == 1 ? kAlone : kThroughSlots; }

std::uint64_t reduced_piece_for(std::uint64_t part, int nodes, int node_size) {
  constexpr std::uint64_t kPieces = 5, kFewest = 3, kOverMoved = 4, kWorthSlots = 11 << 20;
  constexpr int kManyPushes = 16;  // of a piece, to all nodes
  constexpr std::uint64_t kPiecesAlone = 8, kSmallestAlone = 4 << 20, kLargestAlone = 16 << 20;
  if (node_size == 1) return std::clamp(part / kPiecesAlone, kSmallestAlone, kLargestAlone);
  const std::uint64_t moved = message_for(part, node_size);
  const bool many_pushes = nodes * (node_size - 1) >= kManyPushes;
  const std::uint64_t least =
      many_pushes ? std::max(moved, std::min(part / kFewest, kWorthSlots)) : moved;
  return std::clamp(part / kPieces, least, std::max(least, kOverMoved * moved));
}

std::vector<ByteRange> cut_into_messages(std::uint64_t bytes, std::uint64_t largest, bool first) {
  constexpr std::uint64_t kGrain = 4 << 10;
  const std::uint64_t count = (bytes + largest - 1) / largest;
  std::vector<ByteRange> messages;
  if (count == 0) return messages;
  const bool halves = first && count > 2 && largest > kGrain;
  const std::uint64_t parts = 2 * count + (halves ? 1 : 0);  // halves of messages
  const std::uint64_t even = (2 * bytes + parts - 1) / parts;
  const std::uint64_t size = std::min(largest, (even + kGrain - 1) / kGrain * kGrain);
  std::uint64_t next = halves ? size / 2 : size;
  for (std::uint64_t begin = 0; begin < bytes; begin += std::exchange(next, size)) {
    messages.push_back({begin, std::min(next, bytes - begin)});
  }
  return messages;
}

}  // namespace duet
