// A team of all devices of a machine, for tests that run on several kinds of devices.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "core/error.h"
#include "device/machine.h"
#include "team/team.h"

namespace duet {

// The parameter is the machine; skipped where it is not there or has one device.
class OnATeam : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      machine_ = open_machine(GetParam());
    } catch (const UsageError& error) {
      GTEST_SKIP() << error.what();
    }
    if (machine_->size() < 2) GTEST_SKIP() << machine_->name() << " has one device";
    team_.emplace(*machine_);
  }

  std::unique_ptr<Machine> machine_;
  std::optional<Team> team_;
};

}  // namespace duet
