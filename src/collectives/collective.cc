#include "collectives/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/names.h"
#include "device/collective_kernel.h"

namespace duet {
namespace {

constexpr NamedValue<CollectiveKind> kNames[] = {
    {CollectiveKind::all_gather, "all_gather"},
    {CollectiveKind::all_to_all, "all_to_all"},
    {CollectiveKind::all_to_all_v, "all_to_all_v"},
    {CollectiveKind::broadcast, "broadcast"},
    {CollectiveKind::gather, "gather"},
    {CollectiveKind::scatter, "scatter"},
    {CollectiveKind::send_recv, "send_recv"},
    {CollectiveKind::reduce_scatter, "reduce_scatter"},
    {CollectiveKind::all_reduce, "all_reduce"},
    {CollectiveKind::neighbor_exchange, "neighbor_exchange"}};

std::size_t at(int from, int to, int ranks) {
  return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
         static_cast<std::size_t>(to);
}

std::uint64_t whole(int ranks) { return static_cast<std::uint64_t>(ranks); }

// The number of elements that rank `from` sends to rank `to`. For kinds in which every rank may
// send to every other.
std::uint64_t pair_count(const Collective& c, int from, int to, int ranks) {
  switch (c.kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      return c.count;
    case CollectiveKind::all_to_all_v:
      return c.counts[at(from, to, ranks)];
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return from == c.root ? c.count : 0;
    case CollectiveKind::gather:
      return to == c.root ? c.count : 0;
    case CollectiveKind::send_recv:
      return to == (from + 1) % ranks ? c.count : 0;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_reduce:
    case CollectiveKind::neighbor_exchange:
      break;
  }
  throw BadArgument(fmt::format("{}: not a list of moves", name(c.kind)));
}

// Whether a sender sends the same bytes to all receivers.
bool sends_the_same(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::broadcast ||
         kind == CollectiveKind::gather || kind == CollectiveKind::send_recv;
}

void check_counts(const Collective& c, int ranks) {
  if (c.counts.size() == at(ranks, 0, ranks)) return;
  throw BadArgument(fmt::format("all_to_all_v: {} counts: expected {}, one for each pair",
                                c.counts.size(), at(ranks, 0, ranks)));
}

void check_neighbors(const Collective& c, int ranks) {
  const Neighbors& neighbors = c.neighbors;
  if ((neighbors.alternating || neighbors.computes_beside) && !neighbors.computes) {
    throw BadArgument("neighbor_exchange: expected `computes` of calls that alternate or compute");
  }
  if (c.neighbors.ring < 0 || (c.neighbors.ring > 0 && ranks % c.neighbors.ring != 0)) {
    throw BadArgument(fmt::format("neighbor_exchange: rings of {} ranks: expected a divisor of {}",
                                  c.neighbors.ring, ranks));
  }
  if (c.counts.empty()) return;
  if (c.counts.size() != whole(ranks) ||
      *std::min_element(c.counts.begin(), c.counts.end()) < c.count) {
    throw BadArgument(fmt::format("neighbor_exchange: counts [{}]: expected {} of at least {}",
                                  fmt::join(c.counts, ","), ranks, c.count));
  }
}

void check_rows(const Collective& c) {
  const MatrixRows& rows = c.rows;
  const bool fits = c.kind == CollectiveKind::all_gather || reduces(c.kind);
  const bool whole = rows.columns > 0 && c.count % rows.columns == 0;
  const bool counts =
      rows.ranges >= 0 && rows.ranges <= kMostRowRanges && (rows.streams == 1 || rows.streams == 2);
  const bool joins = !rows.joined || c.kind == CollectiveKind::all_gather;
  if (fits && c.op == Reduction::sum && whole && counts && joins) return;
  throw BadArgument(fmt::format(
      "{} of {} elements by {}, rows of {} in {} ranges on {} streams{}: expected whole rows of an "
      "all_gather or a sum, in 0 to {} ranges on 1 or 2 streams, joined of an all_gather",
      name(c.kind), c.count, name(c.op), rows.columns, rows.ranges, rows.streams,
      rows.joined ? ", joined" : "", kMostRowRanges));
}

void check_norm(const Collective& c) {
  const std::uint64_t columns = c.norm.columns;
  const bool sums = c.kind == CollectiveKind::all_reduce && c.op == Reduction::sum;
  const bool counts = std::isfinite(c.norm.epsilon) && c.norm.epsilon >= 0;
  const bool whole = can_normalise(c.dtype, columns) && c.count % columns == 0 && c.count > 0;
  if (sums && whole && counts) return;
  throw BadArgument(fmt::format(
      "{} of {} x {} by {}, normalised in rows of {} with an epsilon of {}: expected whole rows of "
      "a sum by all_reduce, of fp32, fp16 or bf16, each a multiple of {} bytes and at most {}, and "
      "an epsilon of 0 or more",
      name(c.kind), c.count, name(c.dtype), name(c.op), columns, c.norm.epsilon, kPacketDataBytes,
      kMostNormRow));
}

// Sums over ranks are counted in 64 bits.
void check_sizes(const Collective& c, int ranks) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
  const std::uint64_t most = kMostBytes / (size_of(c.dtype) * whole(ranks));
  std::uint64_t largest = c.count;
  for (const std::uint64_t count : c.counts) largest = std::max(largest, count);
  if (largest <= most) return;
  throw BadArgument(fmt::format("{} of {} elements of {} on {} ranks: expected at most {}",
                                name(c.kind), largest, name(c.dtype), ranks, most));
}

std::uint64_t row_sum(const Collective& c, int rank, int ranks, bool sent) {
  check_counts(c, ranks);
  std::uint64_t sum = 0;
  for (int other = 0; other < ranks; ++other) {
    sum += sent ? c.counts[at(rank, other, ranks)] : c.counts[at(other, rank, ranks)];
  }
  return sum;
}

}  // namespace

std::string_view name(RowSums sums) {
  return sums == RowSums::by_compute ? "by-compute" : "in-slots";
}

std::string_view name(CollectiveKind kind) { return name_of(kNames, kind); }

std::vector<CollectiveKind> all_collectives() { return values_in(kNames); }

CollectiveKind parse_collective(std::string_view text) {
  return parse_name(kNames, "unknown collective", text);
}

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_reduce;
}

void check(const Collective& c, int ranks) {
  if (c.root < 0 || c.root >= ranks) {
    throw BadArgument(
        fmt::format("{}: root {}: expected 0 to {}", name(c.kind), c.root, ranks - 1));
  }
  if (c.kind == CollectiveKind::all_to_all_v) check_counts(c, ranks);
  if (c.kind == CollectiveKind::neighbor_exchange) check_neighbors(c, ranks);
  if (c.rows.columns > 0 || c.rows.ranges != 0) check_rows(c);
  if (c.norm.columns > 0) check_norm(c);
  check_sizes(c, ranks);
  constexpr std::array kReducible = {DType::fp32, DType::fp16, DType::bf16, DType::int32};
  if (reduces(c.kind) &&
      std::find(kReducible.begin(), kReducible.end(), c.dtype) == kReducible.end()) {
    throw BadArgument(fmt::format("{} of {}: expected one of fp32, fp16, bf16, int32", name(c.kind),
                                  name(c.dtype)));
  }
}

std::uint64_t send_bytes(const Collective& c, int rank, int ranks) {
  const std::uint64_t chunk = c.count * size_of(c.dtype);
  switch (c.kind) {
    case CollectiveKind::all_to_all:
    case CollectiveKind::reduce_scatter:
      return chunk * whole(ranks);
    case CollectiveKind::all_to_all_v:
      return row_sum(c, rank, ranks, true) * size_of(c.dtype);
    case CollectiveKind::broadcast:
      return rank == c.root ? chunk : 0;
    case CollectiveKind::scatter:
      return rank == c.root ? chunk * whole(ranks) : 0;
    case CollectiveKind::neighbor_exchange:
      return c.counts.empty() ? 2 * chunk
                              : c.counts.at(static_cast<std::size_t>(rank)) * size_of(c.dtype);
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
    case CollectiveKind::send_recv:
    case CollectiveKind::all_reduce:
      break;
  }
  return chunk;
}

std::uint64_t recv_bytes(const Collective& c, int rank, int ranks) {
  const std::uint64_t chunk = c.count * size_of(c.dtype);
  switch (c.kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      return chunk * whole(ranks);
    case CollectiveKind::all_to_all_v:
      return row_sum(c, rank, ranks, false) * size_of(c.dtype);
    case CollectiveKind::gather:
      return rank == c.root ? chunk * whole(ranks) : 0;
    case CollectiveKind::neighbor_exchange:
      return send_bytes(c, rank, ranks) + 2 * chunk;
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
    case CollectiveKind::send_recv:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_reduce:
      break;
  }
  return chunk;
}

std::uint64_t in_place_offset(const Collective& c, int rank) {
  switch (c.kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
    case CollectiveKind::reduce_scatter:
      return c.count * size_of(c.dtype) * static_cast<std::uint64_t>(rank);
    case CollectiveKind::neighbor_exchange:
      return c.count * size_of(c.dtype);
    default:
      return 0;
  }
}

bool has_in_place(CollectiveKind kind) {
  return kind != CollectiveKind::send_recv && kind != CollectiveKind::all_to_all_v;
}

std::uint64_t size_bytes(const Collective& c, int ranks) {
  const std::uint64_t chunk = c.count * size_of(c.dtype);
  switch (c.kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
    case CollectiveKind::reduce_scatter:
      return chunk * whole(ranks);
    case CollectiveKind::all_to_all_v: {
      std::uint64_t largest = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        largest =
            std::max({largest, row_sum(c, rank, ranks, true), row_sum(c, rank, ranks, false)});
      }
      return largest * size_of(c.dtype);
    }
    case CollectiveKind::neighbor_exchange:
      return 2 * chunk;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
    case CollectiveKind::all_reduce:
      break;
  }
  return chunk;
}

double bus_factor(CollectiveKind kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
    case CollectiveKind::reduce_scatter:
      return (n - 1) / n;
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
    case CollectiveKind::neighbor_exchange:
      break;
  }
  return 1;
}

std::uint64_t count_for(CollectiveKind kind, DType dtype, std::uint64_t bytes, int ranks) {
  Collective one;
  one.kind = kind;
  one.dtype = dtype;
  one.count = 1;
  if (kind == CollectiveKind::all_to_all_v) one.kind = CollectiveKind::all_to_all;
  return bytes / size_bytes(one, ranks);
}

namespace {

// Adds the moves of one sender to `list`. On entry `received` has the bytes that each rank receives
// from lower-numbered senders; on return this sender's bytes are added.
void add_moves(const Collective& c, int from, std::vector<std::uint64_t>& received,
               std::vector<Move>& list) {
  const int ranks = static_cast<int>(received.size());
  const std::uint64_t size = size_of(c.dtype);
  std::uint64_t sent = 0;
  for (int to = 0; to < ranks; ++to) {
    const std::uint64_t bytes = pair_count(c, from, to, ranks) * size;
    std::uint64_t& filled = received[static_cast<std::size_t>(to)];
    if (bytes > 0) list.push_back({from, to, sends_the_same(c.kind) ? 0 : sent, filled, bytes});
    sent += bytes;
    filled += bytes;
  }
}

// The bytes that each rank receives from the senders before `from`.
std::vector<std::uint64_t> received_before(const Collective& c, int from, int ranks) {
  const bool by_all = c.kind == CollectiveKind::all_gather || c.kind == CollectiveKind::all_to_all;
  const std::uint64_t even = by_all ? c.count * size_of(c.dtype) * whole(from) : 0;
  std::vector<std::uint64_t> received(whole(ranks), even);
  std::vector<Move> earlier;
  for (int rank = 0; !by_all && rank < from; ++rank) add_moves(c, rank, received, earlier);
  return received;
}

std::vector<Move> neighbor_moves(const Collective& c, int from, int ranks) {
  const std::uint64_t chunk = c.count * size_of(c.dtype);
  const auto [before, next] = neighbors_of(c, from, ranks);
  const Move back{from, before, 0, recv_bytes(c, before, ranks) - chunk, chunk};
  const Move on{from, next, send_bytes(c, from, ranks) - chunk, 0, chunk};
  if (chunk == 0) return {};
  return next < before ? std::vector<Move>{on, back} : std::vector<Move>{back, on};
}

}  // namespace

bool stays_in_place(const Collective& c, const Move& move) {
  return move.from == move.to && c.kind != CollectiveKind::neighbor_exchange;
}

RingNeighbors neighbors_of(const Collective& c, int rank, int ranks) {
  const int ring = c.neighbors.ring > 0 ? c.neighbors.ring : ranks;
  const int first = rank - rank % ring;
  return {first + (rank - first + ring - 1) % ring, first + (rank - first + 1) % ring};
}

std::vector<Move> moves_from(const Collective& c, int from, int ranks) {
  if (c.kind == CollectiveKind::neighbor_exchange) return neighbor_moves(c, from, ranks);
  std::vector<std::uint64_t> received = received_before(c, from, ranks);
  std::vector<Move> list;
  add_moves(c, from, received, list);
  return list;
}

std::vector<Move> moves(const Collective& c, int ranks) {
  std::vector<std::uint64_t> received(whole(ranks), 0);
  std::vector<Move> list;
  for (int from = 0; from < ranks; ++from) {
    if (c.kind == CollectiveKind::neighbor_exchange) {
      for (const Move& move : neighbor_moves(c, from, ranks)) list.push_back(move);
    } else {
      add_moves(c, from, received, list);
    }
  }
  return list;
}

}  // namespace duet
