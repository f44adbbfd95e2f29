#include "nccl_shim/protocol/call.h"

#include <algorithm>

namespace duet::nccl_shim {

bool reduces(Kind kind) { return kind == Kind::reduce_scatter || kind == Kind::all_reduce; }

Part reduced_part(const Call& call, int rank, int ranks) {
  const auto index = static_cast<std::size_t>(rank), count = static_cast<std::size_t>(ranks);
  if (call.kind == Kind::reduce_scatter) return {index * call.bytes, 0, call.bytes};
  if (call.kind != Kind::all_reduce) return {};
  const std::size_t most = aligned((call.bytes + count - 1) / count);
  const std::size_t begin = std::min(index * most, call.bytes);
  return {begin, begin, std::min(most, call.bytes - begin)};
}

Part part(const Call& call, int source, int destination, int ranks) {
  const std::size_t from = static_cast<std::size_t>(destination) * call.bytes;
  const std::size_t to = static_cast<std::size_t>(source) * call.bytes;
  switch (call.kind) {
    case Kind::all_gather:
      return {0, to, call.bytes};
    case Kind::all_to_all:
      return {from, to, call.bytes};
    case Kind::reduce_scatter:
      return {};
    case Kind::all_reduce:
      return reduced_part(call, source, ranks);
    case Kind::broadcast:
      break;
  }
  return source == call.root ? Part{0, 0, call.bytes} : Part{};
}

std::size_t send_bytes(const Call& call, int rank, int ranks) {
  if (call.kind == Kind::all_to_all || call.kind == Kind::reduce_scatter) {
    return call.bytes * static_cast<std::size_t>(ranks);
  }
  return call.kind == Kind::broadcast && rank != call.root ? 0 : call.bytes;
}

std::size_t receive_bytes(const Call& call, int ranks) {
  const bool from_all = call.kind == Kind::all_gather || call.kind == Kind::all_to_all;
  return from_all ? call.bytes * static_cast<std::size_t>(ranks) : call.bytes;
}

std::size_t all_bytes(const Call& call, int ranks) {
  const bool whole = call.kind == Kind::broadcast || call.kind == Kind::all_reduce;
  return whole ? call.bytes : call.bytes * static_cast<std::size_t>(ranks);
}

bool Method::has_chunks() const {
  return std::any_of(chunks.begin(), chunks.end(), [](const ChunkSizes& of_kind) {
    return std::max(of_kind.most, of_kind.most_captured) > 0;
  });
}

}  // namespace duet::nccl_shim
