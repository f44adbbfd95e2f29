// An exchange of a host device: its workers meet as one, by the first word of each peer.
#pragma once

#include <cstdint>
#include <vector>

#include "device/exchange.h"
#include "device/host/device.h"

namespace duet::host {

class HostExchange : public PreparedExchange {
 public:
  HostExchange(HostDevice& device, const Exchange& exchange);

  const HostDevice& device() const { return device_; }
  bool has_peers() const { return !awaits_.empty(); }
  bool polled() const { return polled_; }  // a peer is of another process
  std::uint64_t next_call() { return calls_++; }

  void arrive(std::uint64_t value) const;        // writes the peers' words
  bool have_arrived(std::uint64_t value) const;  // the peers, all of them
  void run_items() const;

  const std::vector<ExchangeItem>& items() const { return exchange_.items; }
  bool opens() const { return exchange_.opens; }
  bool closes() const { return exchange_.closes; }
  bool takes_turns() const { return has_semaphores(exchange_); }
  void run_item(const ExchangeItem& item) const;

 private:
  int parts_of(std::size_t bytes) const;

  HostDevice& device_;
  Exchange exchange_;
  std::vector<std::uint64_t*> arrivals_;
  std::vector<const std::uint64_t*> awaits_;
  std::size_t bytes_ = 0;  // of all items
  bool polled_ = false;
  std::uint64_t calls_ = 0;
};

}  // namespace duet::host
