#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "nccl_shim/protocol/own_rank.h"

namespace duet::nccl_shim {

// Whether a communicator is whole, as this rank knows, and whether this rank is ending it.
// Thread-safe.
class Failure : OwnRank {
 public:
  explicit Failure(const OwnRank& rank) : OwnRank(rank) {}

  // Empty, or why the communicator is broken.
  std::string error() const;
  std::string warning() const;
  void set_error(const std::string& why);  // unless there is one
  void warn(const std::string& what);
  // For all ranks: closes their gates.
  void break_with(const std::string& why);
  // Throws PeerFailed if the communicator is broken, by any rank.
  void check_whole() const;

  // Ends this rank's waits on the CPU.
  void begin_end() { ending_ = true; }
  bool is_ending() const { return ending_; }
  bool is_over() const { return ending_ || !error().empty(); }

 private:
  std::atomic<bool> ending_{false};
  mutable std::mutex error_mutex_;  // guards the next two
  std::string error_, warning_;
};

}  // namespace duet::nccl_shim
