// The memory of all ranks that a schedule's places and semaphores stand for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/engine.h"
#include "collectives/schedule/schedule.h"
#include "collectives/schedule/schedule_memory.h"
#include "collectives/session/lanes.h"
#include "collectives/session/wire.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

// Prepares a kernel instead of Device::prepare(), and synchronises the ranks itself: the kernel has
// no words of peers.
using PreparePeerKernel =
    std::function<std::unique_ptr<PreparedKernel>(Device&, const PeerKernel&)>;

// What a session has for its plans.
struct ScheduleSession {
  Watchdog& watchdog;
  SideStreams* lanes = nullptr;        // lane 1 is the first, and so on
  ScheduleMemoryPool* pool = nullptr;  // of memory that plans may share
  bool keeps_schedules = false;
  PreparePeerKernel prepare = nullptr;
  MemoryKind semaphores = MemoryKind::device;  // that streams wait for; of plans without a pool
  // Over nodes: the map, and where not all ranks map each other's memory what wires need.
  const NodeMap* nodes = nullptr;
  NodeRank* node = nullptr;
  MakeWire make_wire = nullptr;
};

class Binding {
 public:
  // Collective: every rank constructs it inside Team::each() with its part of the same schedule.
  // Throws Unreachable on all ranks where one cannot map memory that the schedule accesses.
  Binding(Rank& rank, const RankSchedule& schedule, const CollectiveBuffers& buffers,
          const ScheduleSession& session);

  const CollectiveBuffers& buffers() const { return buffers_; }
  Span span_of(const Place& place) const;
  std::vector<Semaphore> semaphores_of(const std::vector<SemaphoreAt>& list) const;
  std::unique_ptr<PreparedKernel> prepare(const StepKernel& kernel) const;
  // Whether the prepared kernel does what StepKernel::norm says.
  bool normalises(const StepKernel& kernel) const;
  Wire& wire(int number) const { return *wires_[index_of(number)].wire; }
  // Blocking, while no rank is in a call: overwrites what the plan owns of this rank.
  void poison() const;

 private:
  struct BoundWire {
    int go = 0, gone = 0, come = 0;  // as WireMessages'
    bool to_incoming = false;
    std::unique_ptr<Wire> wire;
  };

  void make_wires(const RankSchedule& schedule, const ScheduleSession& session);
  WireTraffic traffic_of(const WireMessages& wire, const NodeMap& map) const;
  Span buffer_of(const Place& place) const;
  Span incoming() const;
  Semaphore at(const SemaphoreAt& semaphore) const;
  LocalKernel local_kernel(const StepKernel& kernel) const;
  PeerKernel peer_kernel(const StepKernel& kernel) const;
  PacketKernel packet_kernel(PeerKernel barrier, const StepKernel& kernel) const;

  Device& device_;
  const int rank_, ranks_;
  const std::vector<int> node_;
  const std::vector<SemaphoreGroup> groups_;
  const PreparePeerKernel prepare_peer_kernel_;
  const CollectiveBuffers buffers_;
  // Before the semaphores: where it fails, no rank has mapped another's.
  std::optional<PeerMemory> all_send_, all_recv_;
  std::shared_ptr<ScheduleMemory> memory_;
  Buffer scratch_;
  std::vector<BoundWire> wires_;
};

}  // namespace duet
