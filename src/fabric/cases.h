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
  int places = 0;  // FabricTask::places; 0: one per message, or what memory_limit has room for
  // Largest piece in bytes; 0: one piece per rail; none: 1 MiB, and 0 for messages by ipc.
  std::optional<std::uint64_t> chunk;
  std::vector<bool> directions{false};  // both ways at once
  std::vector<MemoryKind> memory{MemoryKind::pageable};
  std::optional<MemoryPath> path;  // of the device's own memory; none: choose_memory_path()
  std::vector<RailIssue> issues{RailIssue::direct};  // of one-way writes; others are direct
  std::vector<int> producers{1};                     // threads that push to a proxy
  std::vector<MemoryKind> fifo_memory{MemoryKind::pinned};
  bool fifo = false;                        // measure the proxy's fifo alone as well
  std::uint64_t memory_limit = 2ull << 30;  // of a process's buffers of one direction
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
  int device = 0;           // number of this process's device in its machine
};

// Messages of an iteration: as many windows as fit into 32 MiB, from 1 to 32.
int messages_of(std::uint64_t bytes, int window);

// The cases of `duet fabric`, whose conclusion recommends a rail mode. Collective: all processes
// call it and run its cases in the same order. Machine and processes must outlive the benchmark.
// Throws UsageError for operations that this number of processes cannot run, and as FabricSession
// does.
Benchmark fabric_benchmark(Machine& machine, const FabricOptions& options,
                           std::function<bool()> stop, Processes& processes);

}  // namespace duet
