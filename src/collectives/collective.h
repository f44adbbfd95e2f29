// What a collective is, for every engine: kinds, buffers and how bytes are counted. The conventions
// are those of NCCL and nccl-tests.
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
  neighbor_exchange,
};

std::string_view name(CollectiveKind kind);
CollectiveKind parse_collective(std::string_view text);  // throws UsageError
std::vector<CollectiveKind> all_collectives();
bool reduces(CollectiveKind kind);

// Of a neighbor_exchange alone.
struct Neighbors {
  // So many consecutive ranks are each other's neighbours, the first one being next to the last; it
  // divides the number of ranks. 0: all ranks. Of one or two, both neighbours are one rank.
  int ring = 0;
  // All ranks' calls alternate with those of another plan, whose buffers are others, on the same
  // stream, and what a rank has received it has read before the other plan's next call sends: so no
  // rank asks whether it may write, in the first call either. Needs `computes`.
  bool alternating = false;
  bool computes = false;         // calls are made by CollectivePlan::enqueue_beside()
  bool computes_beside = false;  // and its `beside` is not empty
};

// How partial sums of rows of matrices are added up.
enum class RowSums {
  // A rank multiplies onto what has arrived from the rank before it, and passes the sum on: nothing
  // else adds. With n ranks n - 1 roundings to the element's type.
  by_compute,
  // The rank that keeps a row has slots for what the others send, and adds in rank order.
  in_slots,
};
std::string_view name(RowSums sums);

inline constexpr int kMostRowRanges = 1024;  // of MatrixRows

// Of an all_gather, a reduce_scatter or an all_reduce, whose buffers are rows of matrices
// that the caller multiplies within the call (CollectivePlan::enqueue_rows()): of an all_gather the
// rows that have arrived; of the others each rank makes its partial sums of all rows, and the send
// buffer is memory for them. Ranks have equal numbers of rows, but of an all_reduce.
struct MatrixRows {
  std::uint64_t columns = 0;  // elements of a row; 0: nothing is multiplied
  // Each rank's rows are sent in so many ranges, at most kMostRowRanges. 0: the multiplication is
  // made at once, behind the whole all_gather, or before the whole reduction.
  int ranges = 0;
  RowSums sums = RowSums::by_compute;
  // 1, or 2: ranges are multiplied on two streams in turns, so that one begins on the compute units
  // that the one before it leaves, and needs not wait for an input that is late.
  int streams = 1;
  // Of an all_gather: a rank multiplies its own rows, then those of two ranks at once, then those
  // of all others, each when they have come. Three GEMMs leave fewer compute units idle in their
  // last waves than one for each rank; it pays where rows come faster than they are multiplied.
  bool joined = false;
};

// Of an all_reduce that sums fp32, fp16 or bf16: what follows the sum, row by row, in the same
// call: it is added to a residual, and the receive buffer has the RMSNorm of that (RowNorm,
// device/collective_kernel.h, which has the formula and the sizes of rows).
struct SumNorm {
  std::uint64_t columns = 0;  // elements of a row; 0: nothing follows
  float epsilon = 0;
};

// One call of a collective. Every rank makes it with equal values. n is the number of ranks.
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
//   neighbor_       a chunk            the first chunk    the send buffer's size and a chunk on
//     exchange                         to the rank        either side: the first chunk from the
//                                      before, the last   rank before, the last one from the next
//                                      to the next        rank; nothing is written between them
//
// Where the buffers lie in place:
// - all_gather, gather (root): `send` is the rank's own chunk of `recv`;
// - reduce_scatter, scatter (root): `recv` is the rank's own chunk of `send`;
// - neighbor_exchange: `send` is what lies between the two chunks that are received: a field with
//   its halo;
// - all other kinds: `send` and `recv` are the same buffer.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_gather;
  DType dtype = DType::fp32;  // fp32, fp16, bf16, int32; int8 means bytes and does not reduce
  Reduction op = Reduction::sum;
  std::uint64_t count = 0;  // elements
  int root = 0;
  // all_to_all_v: elements from rank f to rank t at [f * ranks + t]; chunks lie back to back.
  // neighbor_exchange: elements of each rank's send buffer, at least `count`; empty: twice `count`.
  std::vector<std::uint64_t> counts;
  Neighbors neighbors = {};
  MatrixRows rows = {};
  SumNorm norm = {};
};

// Throws BadArgument where the root is not a rank, `counts` does not have as many entries as the
// kind needs or too small ones, the ring does not divide the ranks, a count is too large to be
// counted in bytes, or a reduction has an element type that cannot be reduced, or rows that cannot
// be normalised. The message names what was expected.
void check(const Collective& collective, int ranks);

// Bytes of the rank's send and receive buffer; 0 where the rank has no such buffer. Throw
// BadArgument where `counts` does not have its entries.
std::uint64_t send_bytes(const Collective& collective, int rank, int ranks);
std::uint64_t recv_bytes(const Collective& collective, int rank, int ranks);

// In place: the offset in bytes of `send` within `recv` (all_gather, gather, neighbor_exchange) or
// of `recv` within `send` (reduce_scatter, scatter). 0 for the other kinds.
std::uint64_t in_place_offset(const Collective& collective, int rank);

// Whether the kind can run in place. send_recv cannot: a rank would send what it has just received.
bool has_in_place(CollectiveKind kind);

// The size of a call in bytes as nccl-tests counts it (table in docs/measuring.md), and the factor
// from algorithm bandwidth to bus bandwidth.
std::uint64_t size_bytes(const Collective& collective, int ranks);
double bus_factor(CollectiveKind kind, int ranks);

// The largest count for which size_bytes() is at most `bytes`.
std::uint64_t count_for(CollectiveKind kind, DType dtype, std::uint64_t bytes, int ranks);

// Bytes of one rank's send buffer that belong into a receive buffer, a peer's or the rank's own.
struct Move {
  int from = 0, to = 0;
  std::uint64_t from_offset = 0;  // in the sender's send buffer
  std::uint64_t to_offset = 0;    // in the receiver's receive buffer
  std::uint64_t bytes = 0;
};

// All moves of a collective without reduction, ordered by sender, then by receiver; of two between
// the same ranks (neighbor_exchange) that of the first chunk comes first. Moves of 0 bytes are left
// out.
std::vector<Move> moves(const Collective& collective, int ranks);
// Whether a call in place leaves the move's bytes where they are: a rank's own part, but of a
// neighbor_exchange.
bool stays_in_place(const Collective& collective, const Move& move);
// The ranks before and behind a rank in its ring.
struct RingNeighbors {
  int before = 0, next = 0;
};
RingNeighbors neighbors_of(const Collective& collective, int rank, int ranks);
// The moves of one sender.
std::vector<Move> moves_from(const Collective& collective, int from, int ranks);

}  // namespace duet
