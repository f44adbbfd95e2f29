#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"
#include "fabric/proxy/fifo.h"

namespace duet {

// Message i belongs to producer i modulo their number.
struct ProducerTask {
  int producers = 1;
  std::uint64_t messages = 0;
  bool blocking = false;  // wait for the end of each message, not only of the last one
};

// Threads that push commands to a proxy, from begin() on. The destructor ends their waits.
class Producers {
 public:
  virtual ~Producers() = default;
  virtual void begin() = 0;
  // Whether all have seen their last command done. Throws where they no longer run.
  virtual bool ended() = 0;
  // After ended(): when the last one did, in seconds of the steady clock; seconds of each push.
  virtual double end() const = 0;
  virtual std::vector<double> push_seconds() const = 0;
  // Added to ProxyCommand::pushed it gives seconds of this process's steady clock.
  virtual double clock_offset() const { return 0; }
};

// Blocks of the device, one per producer; for a CPU device threads instead. Fifo and device must
// outlive them. Throws Timeout where the device does not answer.
std::unique_ptr<Producers> make_producers(Device& device, Fifo& fifo, const ProducerTask& task);

}  // namespace duet
