#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
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

// The cases of fabric_benchmark() with both ends in this process: the calling thread and one made
// for each case, connected over the loopback. The second end drives `there`. Cases may be run in
// any order, or left out. `here` must outlive the benchmark. Throws as fabric_benchmark() does.
Benchmark both_ends_benchmark(Machine& here, std::unique_ptr<Machine> there,
                              const FabricOptions& options, const std::function<bool()>& stop);

// A recommendation for each group of two or more cases that differ in the rail mode alone: among
// the modes within 2% of the fastest the one that posts least (single, then round_robin, then
// split). Its rate times_as_fast is relative to `single`, or to the slowest mode where that was not
// measured.
std::vector<Measurement> recommend_rails(const std::vector<Finished>& finished);

// Cases that measure the fifo alone, in commands per second: one for each kind of memory and number
// of producers. Process 0 runs them while the others wait. The device must outlive them.
std::vector<Case> fifo_cases(Device& device, const std::string& device_name,
                             const std::vector<MemoryKind>& memory,
                             const std::vector<int>& producers, const Mode& mode,
                             const std::function<bool()>& stop, Processes& processes);

}  // namespace duet
