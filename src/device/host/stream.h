// Streams and events of host devices.
#pragma once

#include <cstdint>
#include <memory>

#include "device/host/device.h"

namespace duet::host {

// An event's state outlives its handle while operations on it are queued: hence shared.
struct Moment {
  Board& board;
  std::uint64_t recorded = 0;  // guarded by the board's lock, like what follows
  std::uint64_t reached = 0;
  double seconds = 0;
  int waiters = 0;
};

class HostEvent : public Event {
 public:
  explicit HostEvent(HostDevice& device);
  bool done() override;
  void synchronize(double deadline_seconds) override;
  double seconds_since(const Event& earlier) const override;

  const std::shared_ptr<Moment>& moment() const { return moment_; }

 private:
  std::string device_;
  std::shared_ptr<Moment> moment_;
};

class HostExchange;

class HostStream : public Stream {
 public:
  HostStream(HostDevice& device, int priority);
  ~HostStream() override;

  Device& device() override { return device_; }
  void copy(const Copy& copy) override;
  void fill(const Span& span, const Fill& fill) override;
  void record(Event& event) override;
  void wait(Event& event) override;
  void signal(const Flag& flag, std::uint64_t value) override;
  void wait(const Flag& flag, std::uint64_t value) override;
  void run(const Task& task) override;
  void exchange(PreparedExchange& prepared) override;
  bool idle() override;
  void synchronize(double deadline_seconds) override;

 private:
  void take_turns(const HostExchange& exchange);
  void rethrow();

  HostDevice& device_;
  Queue queue_;
};

}  // namespace duet::host
