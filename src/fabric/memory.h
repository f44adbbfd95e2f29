#pragma once

#include <memory>

#include "device/device.h"
#include "fabric/region.h"
#include "fabric/session.h"
#include "fabric/task.h"

namespace duet {

// A process's buffers of a case, one to send and one to receive. Their contents are different in
// every iteration.
class FabricMemory {
 public:
  // Collective: allocates, registers with the session's rails, and exchanges descriptors with all
  // other processes. Session and device must outlive it. Throws OutOfMemory and Error.
  FabricMemory(FabricSession& session, const FabricTask& task, Device& device);
  // By ipc: waits for a barrier, so that no process has the memory mapped when it is freed.
  ~FabricMemory();
  FabricMemory(const FabricMemory&) = delete;
  FabricMemory& operator=(const FabricMemory&) = delete;

  const Region& out() const { return *out_; }
  const Region& in() const { return *in_; }

  // `number`: of the iteration, the same in all processes. Fills what is sent and poisons what is
  // received.
  void fill(std::uint64_t number);
  // Compares every byte received. Throws Mismatch.
  void check(std::uint64_t number) const;

 private:
  Fill pattern(std::uint64_t number, int process) const;
  void check_from(std::uint64_t number, int sender, std::uint64_t offset,
                  std::uint64_t bytes) const;

  FabricSession& session_;
  FabricTask task_;
  int self_, processes_;
  Device& device_;
  std::unique_ptr<Stream> stream_;  // fills
  Buffer out_buffer_, in_buffer_;
  std::unique_ptr<Region> out_, in_;  // gone before the buffers
};

}  // namespace duet
