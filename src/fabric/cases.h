// The cases of `duet fabric`, and which mode of rails they recommend.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "fabric/operation.h"
#include "fabric/session.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

struct FabricOptions {
  FabricSettings settings;
  std::vector<FabricOperation> operations;  // empty: fabric_operations()
  std::vector<std::uint64_t> sizes;         // of a message; empty: 256 KiB to 1 GiB by factors of 2
  std::vector<RailMode> modes;              // empty: single, and of several rails all
  std::vector<int> windows{1, 8};           // messages in flight
  int messages = 0;                         // of an iteration; 0: messages_of()
  int places = 0;  // in memory; 0: one for each message, or what memory_limit has room for
  // 0: a rail's part in one piece; none: 1 MiB, of what goes by ipc 0.
  std::optional<std::uint64_t> chunk;
  std::vector<bool> directions{false};  // both ways at once
  std::vector<MemoryKind> memory{MemoryKind::pageable};
  std::optional<MemoryPath> path;  // of the device's own; none: choose_memory_path()
  std::vector<RailIssue> issues{RailIssue::direct};  // of writes one way
  std::vector<int> producers{1};                     // threads that push to a proxy
  std::vector<MemoryKind> fifo_memory{MemoryKind::pinned};
  bool fifo = false;                        // measure the proxy's fifo alone as well
  std::uint64_t memory_limit = 2ull << 30;  // of a process's buffers of one direction
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
  int device = 0;           // of the machine's, this process's own
};

// Messages of an iteration: as many windows as fit into 32 MiB, from 1 to 32.
int messages_of(std::uint64_t bytes, int window);

// All processes make the same call and run its cases in the same order; machine and processes must
// outlive it. Throws UsageError for operations that so many processes cannot run, and for what
// FabricSession refuses; Unavailable without a fabric library.
Benchmark fabric_benchmark(Machine& machine, const FabricOptions& options,
                           std::function<bool()> stop, Processes& processes);

}  // namespace duet
