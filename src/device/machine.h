// The devices that one --device argument names, what links them, and their clock.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/rank_scheduler.h"

namespace duet {

class Machine {
 public:
  virtual ~Machine() = default;
  virtual const std::string& name() const = 0;  // as in --device: "host:4", "sim:mi300x-8"
  virtual int size() const = 0;                 // number of devices
  virtual Device& device(int index) = 0;
  virtual Link link(int from, int to) const = 0;
  virtual double now() = 0;                          // seconds; virtual on a simulated machine
  virtual bool is_virtual() const { return false; }  // whether its time is simulated
  virtual RankScheduler& scheduler() = 0;

  // Device memory that is allocated from now on can be shared (Device::share()).
  virtual void make_shareable() {}
};

// One kind of device. `host` and `sim` are built in; the vendors' kinds come with their modules.
struct Backend {
  std::string kind;         // the word before the first colon of --device
  std::string description;  // one line for --help: "host, host:4 (ranks)"
  // Opens the machine that the text after the colon describes ("": no colon). Throws UsageError
  // naming what was expected, or Unavailable.
  std::function<std::unique_ptr<Machine>(const std::string& argument)> open;
};

void register_backend(Backend backend);

// Opens --device. Throws UsageError that lists the known kinds, or why a kind is not available.
std::unique_ptr<Machine> open_machine(const std::string& device);

struct BackendState {
  std::string kind;
  std::string description;
  bool available = false;
  std::string reason;                // one line, where not available
  std::unique_ptr<Machine> machine;  // as "--device KIND" opens it; none where it needs an argument
};

// All kinds that this build could have, in a fixed order, with their modules loaded and, to know
// that they work, opened.
std::vector<BackendState> backends();

}  // namespace duet
