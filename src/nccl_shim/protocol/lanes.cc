#include "nccl_shim/protocol/lanes.h"

namespace duet::nccl_shim {

Lanes::Lanes(ShimDevice& device)
    : device_(device),
      push_(device.create_stream()),
      pull_(device.create_stream()),
      begin_(device.create_event()),
      pushed_(device.create_event()),
      pulled_(device.create_event()) {}

Lanes::~Lanes() {
  device_.destroy_stream(push_);
  device_.destroy_stream(pull_);
}

void Lanes::follow(Stream user) {
  device_.record(*begin_, user);
  device_.wait(push_, *begin_);
  device_.wait(pull_, *begin_);
}

void Lanes::join(Stream user) {
  device_.record(*pushed_, push_);
  device_.record(*pulled_, pull_);
  device_.wait(user, *pushed_);
  device_.wait(user, *pulled_);
}

void Lanes::record_ends() noexcept {
  try_record(device_, *pushed_, push_);
  try_record(device_, *pulled_, pull_);
}

bool Lanes::runs() const { return !device_.done(*pushed_) || !device_.done(*pulled_); }

}  // namespace duet::nccl_shim
