#pragma once

#include <cstddef>

#include "nccl_shim/protocol/memory_rows.h"
#include "nccl_shim/protocol/own_rank.h"

namespace duet::nccl_shim {

// Memory of the drop-in's own on this rank's device that its peers write, to the end: slots, and
// behind them packet buffers.
class ReceiveMemory : OwnRank {
 public:
  // Packet buffers are zero at first.
  ReceiveMemory(const OwnRank& rank, std::size_t slot_bytes, std::size_t packet_bytes,
                LentMemory& lent, BorrowedMemory& borrowed);
  ~ReceiveMemory();
  ReceiveMemory(const ReceiveMemory&) = delete;
  ReceiveMemory& operator=(const ReceiveMemory&) = delete;

  bool exists() const { return memory_ != nullptr; }
  char* slots() const { return memory_; }
  char* packets() const { return memory_ + slot_bytes_; }

  // Maps the peers', which have all been made.
  void map();
  char* slots_of(int peer) { return borrowed_.address(peer, shared_.ranks[peer].slots); }
  char* packets_of(int peer) { return borrowed_.address(peer, shared_.ranks[peer].packets); }

 private:
  const std::size_t slot_bytes_;
  BorrowedMemory& borrowed_;
  char* memory_ = nullptr;
};

}  // namespace duet::nccl_shim
