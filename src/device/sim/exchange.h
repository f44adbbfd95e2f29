// An exchange of a simulated device: it meets by the first word of each peer.
#pragma once

#include <cstdint>
#include <vector>

#include "device/exchange.h"
#include "device/sim/costs.h"
#include "device/sim/memory.h"

namespace duet::sim {

class SimDevice;

class SimExchange : public PreparedExchange {
 public:
  // `kernel`: as this one of the platform's library would run it; nullptr: as the device's own.
  SimExchange(SimDevice& device, const Exchange& exchange, const LibraryKernel* kernel = nullptr,
              Between between = Between::direct);

  const SimDevice& device() const { return device_; }
  const Exchange& exchange() const { return exchange_; }
  const ExchangePlaces& places() const { return places_; }
  const std::vector<Flag>& arrivals() const { return arrivals_; }
  const std::vector<Flag>& awaits() const { return awaits_; }
  std::uint64_t next_call() { return calls_++; }

  // What the items leave in memory, when their time has passed.
  void leave_behind();
  void leave_behind(std::size_t item);

 private:
  SimDevice& device_;
  Exchange exchange_;
  ExchangePlaces places_;
  std::vector<Flag> arrivals_;
  std::vector<Flag> awaits_;
  std::vector<Reduced> reduced_;  // by item
  std::uint64_t calls_ = 0;
};

}  // namespace duet::sim
