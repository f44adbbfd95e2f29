// A process's memory of a case: what it sends and what it receives, with contents that no other
// iteration has.
#pragma once

#include <memory>

#include "device/device.h"
#include "fabric/region.h"
#include "fabric/session.h"
#include "fabric/task.h"

namespace duet {

class FabricMemory {
 public:
  // Allocates, registers with the session's rails, and tells all other processes. Session and
  // device must outlive it. Throws OutOfMemory and Error.
  FabricMemory(FabricSession& session, const FabricTask& task, Device& device);
  // Where others have mapped it, waits until they have not; a failure of theirs ends that.
  ~FabricMemory();
  FabricMemory(const FabricMemory&) = delete;
  FabricMemory& operator=(const FabricMemory&) = delete;

  const Region& out() const { return *out_; }
  const Region& in() const { return *in_; }

  // `number`: of the iteration, in all processes the same. Fills what goes out, poisons what comes.
  void fill(std::uint64_t number);
  // Every byte that came. Throws Mismatch.
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
