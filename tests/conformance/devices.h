// The machines on which the conformance tests run, and what the tests share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/label_fixture.h"
#include "device/machine.h"

namespace duet::conformance {

inline constexpr double kDeadline = 20;  // seconds for any wait in a test

// Opens a machine of at least one device. Skips with the reason if its kind is not available.
class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  Device& device(int index = 0) { return machine_->device(index); }
  // The last device: device(0) if the machine has one device only.
  Device& peer() { return machine_->device(machine_->size() - 1); }
  bool two_devices() const { return machine_->size() > 1; }
  // Whether the peer is another piece of hardware, not this one for a second rank.
  bool peer_is_another() {
    return two_devices() &&
           (device().info().bus.empty() || device().info().bus != peer().info().bus);
  }

  Buffer filled(Device& owner, std::size_t bytes, const Fill& fill,
                MemoryKind kind = MemoryKind::device);

  // Coherent device memory of zeros: semaphores, packets and slots.
  Buffer zeroed(Device& owner, std::size_t bytes);

  std::unique_ptr<Machine> machine_;
};

std::vector<std::string> machines();

inline Fill pattern(std::uint64_t seed, std::uint64_t offset = 0) {
  return {FillKind::pattern, seed, offset, DType::fp32};
}
inline Fill constant(std::uint64_t value) { return {FillKind::constant, value, 0, DType::fp32}; }

}  // namespace duet::conformance

#define DUET_CONFORMANCE(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(Every, suite, ::testing::ValuesIn(::duet::conformance::machines()), \
                           ::duet::machine_label)
