// What the plans of Duet's own engines share.
#pragma once

#include <cstdint>

#include "collectives/engine.h"
#include "collectives/session/watchdog.h"

namespace duet {

class PeerPlan : public CollectivePlan {
 public:
  double wire_bytes() const override { return wire_bytes_; }
  double network_bytes() const override { return network_bytes_; }

 protected:
  void add_wire_bytes(std::uint64_t bytes) { wire_bytes_ += static_cast<double>(bytes); }
  // Those of the wire bytes that go to other nodes.
  void add_network_bytes(std::uint64_t bytes) { network_bytes_ += static_cast<double>(bytes); }

 private:
  double wire_bytes_ = 0;
  double network_bytes_ = 0;
};

}  // namespace duet
