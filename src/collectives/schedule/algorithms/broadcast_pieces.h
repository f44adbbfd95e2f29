// The pieces of a broadcast by copy engines, and which rank pushes which piece to whom, in order.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/partition.h"
#include "collectives/session/copy_lanes.h"

namespace duet {

// One push. Ranks are numbered: the m = n - 1 others from 0, the root m.
struct RelayPush {
  int from = 0, to = 0;
  int piece = 0;
};

// Behind a switch, where every rank has one port: from each rank to the next, the root to other 0
// first. Every port has the same partner all the time, so that two ranks never push to one
// receiver, however far ranks drift. P pieces of a buffer of S bytes take P + m - 1 times as long
// as S / P bytes and the fixed cost of a push.
std::vector<RelayPush> passed_round(int pieces, int others);

// With a link for each peer: the root pushes piece p to other p mod m, and each rank passes its
// pieces on. In rounds as long as a push:
//
//   round p          the root pushes piece p to other p mod m;
//   round p + d      other p mod m pushes it to the one relay_shift(d, m) further, if not 0.
//
// In a round all receivers are different. Let other j push in round t what is d = t - p rounds old,
// p = j (mod m), to j + g(d): it arrives at t + g(d) - d, the root's piece at t (mod m). So the
// g(d) must be all of 1 to m - 1, for everyone gets the piece once, and so must be the g(d) - d,
// for no two pushes go to one receiver. With m odd g(d) = 2d does it, the other that the root
// pushes to being the one that pushes nothing. With m even there is no such g for d from 1 to m -
// 1; without d = m / 2 and with d = m there is: m - 1 - d for d below m / 2 (and 0 for d), m - d
// above.
//
// All pieces of a rotation go at once, and P pieces take P / m + 1 times as long as S / P and what
// a push costs. For four ranks, who pushes which piece to whom:
//
//   round   root     other 0   other 1   other 2
//     0     0 to 0
//     1     1 to 1   0 to 2
//     2     2 to 2   0 to 1    1 to 0
//     3     3 to 0             1 to 2    2 to 1
//     4     4 to 1   3 to 2              2 to 0
std::vector<RelayPush> dealt_out(int pieces, int others);
int relay_shift(int delay, int others);

// What goes over a link while a push costs time besides its bytes, semaphores included, in bytes:
// some 5 us at 400 GB/s where all peers are behind one link, 8 us at 50 GB/s where each has its
// own.
inline constexpr std::uint64_t kPushBytesOfSharedLink = 2 << 20;
inline constexpr std::uint64_t kPushBytesOfOwnLink = 400 << 10;

// The pieces that take the shortest time by these models; they begin at multiples of 4 KiB. None
// where it takes no longer if the root pushes everything to everyone, as for one or two ranks.
std::vector<ByteRange> broadcast_pieces(std::uint64_t bytes, int ranks, CopyLanes copying);

}  // namespace duet
