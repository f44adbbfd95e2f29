#include "nccl_shim/protocol/call.h"

namespace duet::nccl_shim {

Part part(const Call& call, int source, int destination) {
  const std::size_t from = static_cast<std::size_t>(destination) * call.bytes;
  const std::size_t to = static_cast<std::size_t>(source) * call.bytes;
  switch (call.kind) {
    case Kind::all_gather:
      return {0, to, call.bytes};
    case Kind::all_to_all:
      return {from, to, call.bytes};
    case Kind::reduce_scatter:
      return {};
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
  const bool one_part = call.kind == Kind::broadcast || call.kind == Kind::reduce_scatter;
  return one_part ? call.bytes : call.bytes * static_cast<std::size_t>(ranks);
}

std::size_t all_bytes(const Call& call, int ranks) {
  return call.kind == Kind::broadcast ? call.bytes : call.bytes * static_cast<std::size_t>(ranks);
}

}  // namespace duet::nccl_shim
