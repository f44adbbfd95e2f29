#include "nccl_shim/protocol/peer_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace duet::nccl_shim {

PeerProcess::PeerProcess(std::int32_t process)
    : process_(process), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}

PeerProcess::~PeerProcess() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool PeerProcess::has_ended() const {
  if (descriptor_ < 0) return kill(process_, 0) != 0 && errno == ESRCH;
  pollfd end{descriptor_, POLLIN, 0};
  return poll(&end, 1, 0) > 0;
}

std::string why_gone(const Segment& segment, const PeerProcess* process, int rank) {
  const std::string name = "rank " + std::to_string(rank);
  if (process != nullptr && process->has_ended()) return "the process of " + name + " has ended";
  const bool ended = segment.ranks[rank].drained.load(std::memory_order_acquire) != 0;
  return ended ? name + " has ended its communicator" : "";
}

}  // namespace duet::nccl_shim
