// What the files of ROCr's stand-in share: agents and signals.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace fake_gpu {

inline constexpr int kSuccess = 0, kInvalidArgument = 0x1001, kInvalidAgent = 0x1004,
                     kInvalidSignal = 0x1006, kOutOfResources = 0x1008;

struct Agent {
  std::uint64_t handle;
};
struct SignalHandle {
  std::uint64_t handle;
};

bool is_gpu(Agent agent);
int device_of(Agent agent);  // of a GPU

// nullptr: there is none.
std::shared_ptr<std::atomic<std::int64_t>> find_signal(SignalHandle signal);

// hsa_signal_condition_t: equal, not equal, less, greater or equal.
inline bool holds(std::uint32_t condition, std::int64_t signal, std::int64_t value) {
  switch (condition) {
    case 0:
      return signal == value;
    case 1:
      return signal != value;
    case 2:
      return signal < value;
    default:
      return signal >= value;
  }
}

}  // namespace fake_gpu

extern "C" {
int hsa_signal_create(std::int64_t value, std::uint32_t consumers, const fake_gpu::Agent* agents,
                      fake_gpu::SignalHandle* signal);
int hsa_signal_destroy(fake_gpu::SignalHandle signal);
}
