#include "nccl_shim/protocol/peer_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/error.h"

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

std::string why_gone(const SharedBlock& shared, const PeerProcess* process, int rank) {
  const std::string name = "rank " + std::to_string(rank);
  if (process != nullptr && process->has_ended()) return "the process of " + name + " has ended";
  const bool ended = shared.ranks[rank].drained.load(std::memory_order_acquire) != 0;
  return ended ? name + " has ended its communicator" : "";
}

void wait_for_room(const SharedBlock& shared, const PeerProcess* process, int rank,
                   const std::function<bool()>& has_room) {
  while (!has_room()) {
    const std::string gone = why_gone(shared, process, rank);
    if (shared.broken.load(std::memory_order_acquire) != 0) {
      throw PeerFailed("another rank has failed or aborted");
    }
    // Looked at once more: it may have made room before it ended.
    if (!gone.empty() && !has_room()) throw PeerFailed(gone);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace duet::nccl_shim
