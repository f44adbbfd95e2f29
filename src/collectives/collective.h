// What a collective is, whoever runs it: kinds, buffers, what is counted. The conventions are those
// of NCCL and nccl-tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/reduction.h"

namespace duet {

enum class CollectiveKind {
  all_gather,
  all_to_all,
  all_to_all_v,
  broadcast,
  gather,
  scatter,
  send_recv,
  reduce_scatter,
  all_reduce,
};

std::string_view name(CollectiveKind kind);
CollectiveKind parse_collective(std::string_view text);  // throws UsageError
std::vector<CollectiveKind> all_collectives();
bool reduces(CollectiveKind kind);

// A call that every rank makes with equal values.
//
//   kind            count is of        send buffer        receive buffer
//   all_gather      a rank's chunk     chunk              n chunks, by rank
//   all_to_all      a pair's chunk     n chunks, by       n chunks, by source
//                                      destination
//   all_to_all_v    (counts)           chunks, by         chunks, by source
//                                      destination
//   broadcast       the buffer         at the root        everywhere
//   gather          a rank's chunk     chunk              n chunks at the root
//   scatter         a rank's chunk     n chunks at the    chunk
//                                      root
//   send_recv       the buffer         to the next rank   from the rank before
//   reduce_scatter  a rank's chunk     n chunks           chunk
//   all_reduce      the buffer         whole              whole
//
// In place: all_gather, gather (root): send is the rank's own chunk of recv; reduce_scatter,
// scatter (root): recv is the rank's own chunk of send; all others: the same buffer.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_gather;
  DType dtype = DType::fp32;  // fp32, fp16, bf16, int32; int8 stands for bytes, which do not reduce
  Reduction op = Reduction::sum;
  std::uint64_t count = 0;  // elements
  int root = 0;
  // all_to_all_v: elements from rank f to rank t at [f * ranks + t]; chunks lie back to back.
  std::vector<std::uint64_t> counts;
};

// Throws BadArgument, naming what was expected: a root among the ranks, counts for every pair, an
// element type that can be reduced.
void check(const Collective& collective, int ranks);

// What a rank's buffers hold, in bytes; 0 where the rank has no such buffer.
std::uint64_t send_bytes(const Collective& collective, int rank, int ranks);
std::uint64_t recv_bytes(const Collective& collective, int rank, int ranks);

// Where in the other buffer a rank's own part lies when it runs in place, in bytes: of send within
// recv (all_gather, gather) or of recv within send (reduce_scatter, scatter); 0 for the others.
std::uint64_t in_place_offset(const Collective& collective, int rank);

// Can it run in place? A send_recv cannot: it would send what it has just received.
bool has_in_place(CollectiveKind kind);

// S, the bytes by which nccl-tests counts (docs/measuring.md has the table), and the factor from
// algorithm to bus bandwidth.
std::uint64_t size_bytes(const Collective& collective, int ranks);
double bus_factor(CollectiveKind kind, int ranks);

// The count that makes size_bytes() as large as possible but not larger than `bytes`.
std::uint64_t count_for(CollectiveKind kind, DType dtype, std::uint64_t bytes, int ranks);

// One rank's bytes that belong into another's (or its own) receive buffer.
struct Move {
  int from = 0, to = 0;
  std::uint64_t from_offset = 0;  // in the sender's send buffer
  std::uint64_t to_offset = 0;    // in the receiver's receive buffer
  std::uint64_t bytes = 0;
};

// All that a collective without reduction moves, in the order of senders, then of receivers; empty
// moves left out.
std::vector<Move> moves(const Collective& collective, int ranks);
// Those of one sender.
std::vector<Move> moves_from(const Collective& collective, int from, int ranks);

}  // namespace duet
