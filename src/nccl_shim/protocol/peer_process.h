#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "nccl_shim/protocol/shared_memory.h"

namespace duet::nccl_shim {

// The process of another rank, watched for its end. Forked children of it do not keep it alive.
class PeerProcess {
 public:
  explicit PeerProcess(std::int32_t process);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  bool has_ended() const;

 private:
  std::int32_t process_;
  int descriptor_;  // a pidfd; -1 where the kernel gives none
};

// Empty, or why a rank does nothing any more. `process`: null if it is of this process.
std::string why_gone(const SharedBlock& shared, const PeerProcess* process, int rank);

// Waits on the CPU for what that rank makes room by. Throws PeerFailed where it will make none, or
// the communicator is broken.
void wait_for_room(const SharedBlock& shared, const PeerProcess* process, int rank,
                   const std::function<bool()>& has_room);

}  // namespace duet::nccl_shim
