#pragma once

#include <memory>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim {

// Two streams of a rank's own, beside the user's, for the copies of its calls.
class Lanes {
 public:
  using Stream = ShimDevice::Stream;

  explicit Lanes(ShimDevice& device);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  Stream push() const { return push_; }
  Stream pull() const { return pull_; }
  void follow(Stream user);  // both are behind what `user` has
  void join(Stream user);    // `user` is behind what both have
  void record_ends() noexcept;
  bool runs() const;  // whether what was joined, or recorded, does

 private:
  ShimDevice& device_;
  const Stream push_, pull_;
  const std::unique_ptr<StreamEvent> begin_, pushed_, pulled_;
};

}  // namespace duet::nccl_shim
