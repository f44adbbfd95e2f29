// An exchange of a simulated device: it meets by the first word of each peer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/exchange.h"
#include "device/sim/costs.h"
#include "device/sim/memory.h"
#include "device/sim/sim.h"

namespace duet::sim {

class SimDevice;

class SimExchange : public PreparedExchange {
 public:
  // `kernel`: as this one of the platform's library would run it; nullptr: as the device's own.
  SimExchange(SimDevice& device, const Exchange& exchange, const LibraryKernel* kernel = nullptr,
              Between between = Between::direct, RollCall roll_call = {});

  const SimDevice& device() const { return device_; }
  const Exchange& exchange() const { return exchange_; }
  const ExchangePlaces& places() const { return places_; }
  const Charge& charge() const { return charge_; }  // of a call at the lowest priority
  const std::vector<Semaphore>& arrivals() const { return arrivals_; }
  const std::vector<Semaphore>& awaits() const { return awaits_; }
  std::uint64_t next_call() { return calls_++; }
  // The word on which all ranks count themselves, if they do; how far it comes at the next meeting;
  // and a rank's arrival, true if it is the last one's.
  std::optional<Semaphore> count() const { return count_; }
  std::uint64_t next_count() { return static_cast<std::uint64_t>(roll_call_.ranks) * ++meetings_; }
  bool arrive() const;

  // What the items leave in memory, when their time has passed.
  void leave_behind();
  void leave_behind(std::size_t item);

 private:
  void count_by(const Span& word);

  SimDevice& device_;
  Exchange exchange_;
  ExchangePlaces places_;
  Charge charge_;
  std::vector<Semaphore> arrivals_;
  std::vector<Semaphore> awaits_;
  std::vector<Reduced> reduced_;  // by item
  RollCall roll_call_;
  std::optional<Semaphore> count_;
  std::uint64_t calls_ = 0, meetings_ = 0;
};

}  // namespace duet::sim
