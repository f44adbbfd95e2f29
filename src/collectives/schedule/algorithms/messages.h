// How a part is cut into the network's messages.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/partition.h"

namespace duet {

// How many messages of at most `largest` bytes cross the network at a time: while one's latency
// passes, others move. Of large ones two, since what comes last is then less.
int messages_in_flight(std::uint64_t largest);

// The size of messages for parts of `bytes` that go on to `node_size` - 1 ranks as they come. What
// is left to do after the last one shrinks with its size; but each copy costs some 4 us besides its
// bytes. Bus bandwidth in GB/s of an all_gather of 8 GiB on simulated p5.48xlarge, of messages of
//
//              2 MiB   3 MiB   4 MiB   6 MiB   8 MiB   16 MiB
//   8 nodes    412     430     430     429     428     423
//   16 nodes   394     397     402     401     400     396
std::uint64_t message_for(std::uint64_t bytes, int node_size);

// Of an all_to_all's parts. Where a message is made of several ranks' parts, only the first one of
// a call is waited for, but each rank has slots of this size; alone on its node a rank sends as in
// an all_gather.
std::uint64_t exchange_for(int node_size);

// The pieces in which nodes reduce parts. One costs L - 1 pushes, of which each takes some 4 us
// besides its bytes, so pieces are larger
// than what is only moved; but five follow each other, or of small parts three where pushes are
// many, since nothing hides what the first and the last one wait for. Bus bandwidth in GB/s of a
// reduce_scatter of 8 GiB on simulated p5.48xlarge, reduced by 16 blocks, of pieces of
//
//              4 MiB   6.4 MiB   8 MiB   11 MiB   13 MiB   17 MiB   32 MiB
//   8 nodes      352         -     386        -      393      399      395
//   16 nodes     343       365       -      386      388      326        -
//   32 nodes     248         -     293      326        -        -        -
//
// Where a node has one rank, pieces are the messages, and what is left behind the last one is to
// add it.
std::uint64_t reduced_piece_for(std::uint64_t part, int nodes, int node_size);

// The messages of a part, of one size but for the last, at most `largest` bytes. `first`: of the
// first part of a call, which begins with half a message: equal messages that begin together would
// end together, and their latencies would not hide each other.
std::vector<ByteRange> cut_into_messages(std::uint64_t bytes, std::uint64_t largest, bool first);

}  // namespace duet
