#include "collectives/schedule/algorithms/broadcast_pieces.h"

#include <algorithm>
#include <cmath>

namespace duet {
namespace {

constexpr std::uint64_t kBroadcastGrain = 4 << 10;

// The time of a broadcast, in units of the time of one byte. `count` pieces; where each peer has a
// link of its own, `count` pieces for each of the others.
double model(double bytes, double push, double others, double count, bool shared) {
  if (shared) return (count + others - 1) * (bytes / count + push);
  return (count + 1) * (bytes / (others * count) + push);
}

// The count for which model() is least.
double best_count(double bytes, double push, double others, bool shared) {
  const double ratio = shared ? bytes * (others - 1) / push : bytes / (others * push);
  return std::max(1.0, std::round(std::sqrt(ratio)));
}

}  // namespace

int relay_shift(int delay, int others) {
  const int d = delay % others;
  if (others % 2 == 1) return 2 * d % others;
  if (d == others / 2) return 0;
  return d < others / 2 ? others - 1 - d : others - d;
}

std::vector<RelayPush> passed_round(int pieces, int others) {
  std::vector<RelayPush> pushes;
  for (int piece = 0; piece < pieces; ++piece) {
    for (int to = 0; to < others; ++to) pushes.push_back({to == 0 ? others : to - 1, to, piece});
  }
  return pushes;
}

std::vector<RelayPush> dealt_out(int pieces, int others) {
  std::vector<RelayPush> pushes;
  for (int round = 0; round < pieces + others; ++round) {
    if (round < pieces) pushes.push_back({others, round % others, round});
    for (int delay = 1; delay <= std::min(round, others); ++delay) {
      const int piece = round - delay, shift = relay_shift(delay, others);
      if (piece >= pieces || shift == 0) continue;
      pushes.push_back({piece % others, (piece + shift) % others, piece});
    }
  }
  return pushes;
}

std::vector<ByteRange> broadcast_pieces(std::uint64_t bytes, int ranks, CopyLanes copying) {
  if (ranks < 3 || bytes == 0) return {};
  const bool shared = copying.in_order;
  const auto all = static_cast<double>(bytes), others = static_cast<double>(ranks - 1);
  const auto push = static_cast<double>(shared ? kPushBytesOfSharedLink : kPushBytesOfOwnLink);
  const double count = best_count(all, push, others, shared);
  const double direct = (shared ? others : 1) * (all + push);
  if (model(all, push, others, count, shared) >= direct) return {};
  const auto all_pieces = static_cast<std::uint64_t>(shared ? count : others * count);
  const std::uint64_t each = ((bytes + all_pieces - 1) / all_pieces + kBroadcastGrain - 1) /
                             kBroadcastGrain * kBroadcastGrain;
  std::vector<ByteRange> pieces;
  for (std::uint64_t begin = 0; begin < bytes; begin += each) {
    pieces.push_back({begin, std::min(each, bytes - begin)});
  }
  return pieces;
}

}  // namespace duet
