// What a case moves, and what of it is a process's own.
#pragma once

#include <cstdint>

#include "device/buffer.h"
#include "fabric/load.h"
#include "fabric/operation.h"

namespace duet {

// Two processes: 0 moves data to (read: from) 1; both ways at once where `bidirectional`. Of an
// all_to_all any number, each to every other; `bidirectional`, with a message for each.
struct FabricTask : MessageShape {
  int messages = 1;  // of an iteration
  // Places for messages in memory, which they use by turns: with fewer than there are messages,
  // only what came last into each is checked. 0: each has its own.
  int places = 0;
  bool bidirectional = false;
  MemoryKind memory = MemoryKind::pageable;
  MemoryPath path = MemoryPath::direct;
  RailIssue issue = RailIssue::direct;   // others: of write and write_imm, one way
  int producers = 1;                     // of a proxy
  MemoryKind fifo = MemoryKind::pinned;  // where its fifo lies

  bool all_to_all() const { return operation == FabricOperation::all_to_all; }
  // Is the process one that posts? Do its data go out, does it receive any?
  bool moves(int process) const { return process == 0 || bidirectional; }
  bool sends(int process) const;
  bool receives(int process) const;
};

// Of a process's memory for one direction: each has a place for every one, its own as well, so that
// all have the same places.
std::uint64_t buffer_bytes(const FabricTask& task, int processes);

// The messages of a process, whether it posts them or answers.
FabricLoad load_of(const FabricTask& task, int process, int processes);

}  // namespace duet
