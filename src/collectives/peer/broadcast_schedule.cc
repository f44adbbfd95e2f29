// The model of the rounds, and cutting by it.
#include "collectives/peer/broadcast_schedule.h"

#include <algorithm>
#include <cmath>

namespace duet {
namespace {

constexpr std::uint64_t kGrain = 4 << 10;

// Of `rotations` pieces for each of the others; in the time of a byte.
double model(double bytes, double push, double others, double rotations, bool shared) {
  const double rounds = shared ? others * (rotations + 1) : rotations + 1;
  return rounds * (bytes / (others * rotations) + push);
}

}  // namespace

int relay_shift(int delay, int others) {
  const int d = delay % others;
  if (others % 2 == 1) return 2 * d % others;
  if (d == others / 2) return 0;
  return d < others / 2 ? others - 1 - d : others - d;
}

std::vector<RelayPush> relay_pushes(int pieces, int others, int at_once) {
  std::vector<RelayPush> pushes;
  std::vector<int> turns(static_cast<std::size_t>(others) + 1, 0);       // by sender
  std::vector<std::vector<int>> come(static_cast<std::size_t>(others));  // by receiver
  const auto add = [&](int from, int to, int piece) {
    std::vector<int>& before = come[static_cast<std::size_t>(to)];
    const int index = static_cast<int>(pushes.size()),
              turn = turns[static_cast<std::size_t>(from)]++;
    const auto window = static_cast<std::size_t>(at_once);
    const int one = before.size() < window ? -1 : before[before.size() - window];
    if (one >= 0) pushes[static_cast<std::size_t>(one)].after = index;
    pushes.push_back({from, to, piece, turn, one, -1});
    before.push_back(index);
  };
  for (int round = 0; round < pieces + others; ++round) {
    if (round < pieces) add(others, round % others, round);
    for (int delay = 1; delay <= std::min(round, others); ++delay) {
      const int piece = round - delay, shift = relay_shift(delay, others);
      if (piece >= pieces || shift == 0) continue;
      add(piece % others, (piece + shift) % others, piece);
    }
  }
  return pushes;
}

std::vector<PieceOf> broadcast_pieces(std::uint64_t bytes, int ranks, CopyLanes copying) {
  if (ranks < 3 || bytes == 0) return {};
  const bool shared = copying.in_order;
  const auto all = static_cast<double>(bytes), others = static_cast<double>(ranks - 1);
  const auto push = static_cast<double>(shared ? kPushBytesOfSharedLink : kPushBytesOfOwnLink);
  const double rotations = std::max(1.0, std::round(std::sqrt(all / (others * push))));
  const double direct = (shared ? others : 1) * (all + push);
  if (model(all, push, others, rotations, shared) >= direct) return {};
  const auto count = static_cast<std::uint64_t>(others * rotations);
  const std::uint64_t each = ((bytes + count - 1) / count + kGrain - 1) / kGrain * kGrain;
  std::vector<PieceOf> pieces;
  for (std::uint64_t begin = 0; begin < bytes; begin += each) {
    pieces.push_back({begin, std::min(each, bytes - begin)});
  }
  return pieces;
}

}  // namespace duet
