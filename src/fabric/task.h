#pragma once

#include <cstdint>

#include "device/buffer.h"
#include "fabric/operation.h"
#include "fabric/pieces.h"

namespace duet {

// What a case moves. Between two processes: process 0 writes to or reads from process 1; both at
// once where `bidirectional`. all_to_all: any number of processes, `bidirectional`, and a message
// from each to every other.
struct FabricTask : MessageShape {
  int messages = 1;  // of an iteration
  // Memory for this many messages, which they use in rotation: with fewer places than messages only
  // the last message of each place is checked. 0: one place per message.
  int places = 0;
  bool bidirectional = false;
  MemoryKind memory = MemoryKind::pageable;
  MemoryPath path = MemoryPath::direct;
  RailIssue issue = RailIssue::direct;   // others: of write and write_imm, one way
  int producers = 1;                     // of a proxy
  MemoryKind fifo = MemoryKind::pinned;  // where its fifo lies

  bool all_to_all() const { return operation == FabricOperation::all_to_all; }
  // Whether the process posts; whether data leave it; whether data come to it.
  bool moves(int process) const { return process == 0 || bidirectional; }
  bool sends(int process) const;
  bool receives(int process) const;
};

// Bytes of a process's buffer for one direction. In an all_to_all it has a place for every process,
// itself included, so that places are the same everywhere.
std::uint64_t buffer_bytes(const FabricTask& task, int processes);

// The messages of a process, whether it posts them or answers.
FabricLoad load_of(const FabricTask& task, int process, int processes);

}  // namespace duet
