// Who pushes commands to a proxy: for messages that lie ready, waiting for them to be done after
// each (blocking) or after the last one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"
#include "fabric/proxy/fifo.h"

namespace duet {

// Message i is producer i's modulo their number.
struct ProducerTask {
  int producers = 1;
  std::uint64_t messages = 0;
  bool blocking = false;
};

// They wait for begin(). Going, they let all waits end.
class Producers {
 public:
  virtual ~Producers() = default;
  virtual void begin() = 0;
  // Have all seen their last command done? Throws where they no longer run.
  virtual bool ended() = 0;
  // Then: when the last one did, in seconds, and how long each push took.
  virtual double end() const = 0;
  virtual std::vector<double> push_seconds() const = 0;
  // To be added to ProxyCommand::pushed, to have it by this process's clock.
  virtual double clock_offset() const { return 0; }
};

// The device's own threads, a block each, where it has some; else threads of the CPU that stand for
// them. Fifo and device must outlive them. Throws Timeout where the device does not answer.
std::unique_ptr<Producers> make_producers(Device& device, Fifo& fifo, const ProducerTask& task);

}  // namespace duet
