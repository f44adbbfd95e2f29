#pragma once

#include <cstdint>

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

}  // namespace duet::nccl_shim
