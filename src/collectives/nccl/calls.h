// Which calls of NCCL make up a collective on one rank.
#pragma once

#include <vector>

#include "collectives/collective.h"
#include "collectives/nccl/library.h"

namespace duet::nccl {

struct Seat {
  Comm comm = nullptr;
  int rank = 0;
  int size = 1;
};

bool has_type(DType dtype);  // of the types that collectives have

// The calls of one rank, worked out once. The library must outlive it.
class Calls {
 public:
  Calls(const Library& library, const Seat& seat, const Collective& collective);

  // Enqueues them. Pointers of buffers that this rank does not have may be any address. Throws
  // Error.
  void enqueue(const void* send, void* recv, NativeStream stream) const;

  // By grouped sends and receives, since the library has no call for it?
  bool grouped() const { return grouped_; }

 private:
  void enqueue_one_call(const void* send, void* recv, NativeStream stream) const;
  void enqueue_moves(const void* send, void* recv, NativeStream stream) const;

  const Library& library_;
  Seat seat_;
  CollectiveKind kind_;
  std::size_t count_;  // elements
  int root_;
  std::size_t element_;  // bytes
  Type type_;
  Operation operation_;
  bool grouped_;
  std::vector<Move> sends_, receives_;  // where grouped
};

}  // namespace duet::nccl
