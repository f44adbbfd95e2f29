#pragma once

#include <vector>

#include "collectives/collective.h"
#include "collectives/nccl/library.h"

namespace duet::nccl {

// A rank's communicator, its number in it and the number of ranks.
struct CommRank {
  Comm comm = nullptr;
  int rank = 0;
  int size = 1;
};

// Whether NCCL has the element type.
bool has_type(DType dtype);

// The NCCL calls that make up a collective on one rank. The library must outlive this object.
class Calls {
 public:
  Calls(const Library& library, const CommRank& comm_rank, const Collective& collective);

  // Enqueues the calls. For a buffer that this rank does not have, any address may be given. Throws
  // Error.
  void enqueue(const void* send, void* recv, NativeStream stream) const;

  // Whether the collective is made of grouped sends and receives, because the library has no call
  // for it.
  bool grouped() const { return grouped_; }

 private:
  void enqueue_one_call(const void* send, void* recv, NativeStream stream) const;
  void enqueue_moves(const void* send, void* recv, NativeStream stream) const;

  const Library& library_;
  CommRank comm_rank_;
  CollectiveKind kind_;
  std::size_t count_;  // elements
  int root_;
  std::size_t element_;  // bytes
  Type type_;
  Operation operation_;
  bool grouped_;
  std::vector<Move> sends_, receives_;  // empty unless grouped_
};

}  // namespace duet::nccl
