// How a broadcast by copy engines is cut into pieces, and who passes which piece on to whom, when.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/peer/lanes.h"
#include "collectives/peer/pieces.h"

namespace duet {

// The root deals pieces in rotation to the m = n - 1 others, piece p to other p mod m, and each
// passes its pieces on. In rounds as long as a push:
//
//   round p          the root pushes piece p to other p mod m;
//   round p + d      other p mod m pushes it to the one relay_shift(d, m) further, if not 0.
//
// In a round all receivers are different. Let other j push in round t what is d = t - p rounds old,
// p = j (mod m), to j + g(d): it arrives at t + g(d) - d, the root's piece at t (mod m). So the
// g(d) must be all of 1 to m - 1, for everyone gets the piece once, and so must be the g(d) - d,
// for no two meet. With m odd g(d) = 2d does it, the other that the root pushes to being the one
// that pushes nothing. With m even there is no such g for d from 1 to m - 1; without d = m / 2 and
// with d = m there is: m - 1 - d for d below m / 2 (and 0 for d), m - d above.
//
// A buffer of S in P pieces takes P + m - 1 rounds (m even: P + m) of S / P and what a push costs.
// No port carries more than S: the root sends S, each other receives S and sends S (m - 1) / m.
// With a link for each peer all pieces of a rotation go at once, and it takes P / m + 1 rounds.
// For four ranks, who pushes which piece to whom:
//
//   round   root     other 0   other 1   other 2
//     0     0 to 0
//     1     1 to 1   0 to 2
//     2     2 to 2   0 to 1    1 to 0
//     3     3 to 0             1 to 2    2 to 1
//     4     4 to 1   3 to 2              2 to 0
int relay_shift(int delay, int others);

// By number, other i is i and the root is m.
struct RelayPush {
  int from = 0, to = 0;
  int piece = 0;
  int turn = 0;     // which of its sender's pushes, from 0 on
  int before = -1;  // which of all pushes must have come to the receiver first,
  int after = -1;   // and which must wait for this one; -1: none
};

// All ranks' pushes, in the order of rounds; a receiver takes `at_once` of them at a time.
std::vector<RelayPush> relay_pushes(int pieces, int others, int at_once);

// What goes over a link while a push costs time besides its bytes, flags included, in bytes: some
// 5 us at 400 GB/s where all peers are behind one link, 8 us at 50 GB/s where each has its own.
inline constexpr std::uint64_t kPushBytesOfSharedLink = 2 << 20;
inline constexpr std::uint64_t kPushBytesOfOwnLink = 400 << 10;

// As many pieces for each of the others as by the rounds above take the shortest time, beginning
// at multiples of 4 KiB. None where the root's pushing everything to everyone takes no longer, as
// for one or two ranks.
std::vector<PieceOf> broadcast_pieces(std::uint64_t bytes, int ranks, CopyLanes copying);

}  // namespace duet
