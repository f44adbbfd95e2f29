#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/rank_scheduler.h"

namespace duet {

// The devices that one --device argument opens, the links between them, and their clock.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual const std::string& name() const = 0;  // in the form of --device: "host:4", "sim:mi300x-8"
  virtual int size() const = 0;                 // number of devices
  virtual Device& device(int index) = 0;
  virtual Link link(int from, int to) const = 0;
  virtual double now() = 0;                          // seconds; virtual on a simulated machine
  virtual bool is_virtual() const { return false; }  // whether its time is simulated
  virtual RankScheduler& scheduler() = 0;

  // After this call, device memory is allocated so that Device::export_memory() works on it.
  virtual void make_shareable() {}
};

// One kind of device. `host` and `sim` are built in; modules register the vendors' kinds.
struct Backend {
  std::string kind;         // the word before the first colon of --device
  std::string description;  // one line for --help: "host, host:4 (ranks)"
  // Opens a machine. `argument` is the text after the colon of --device; "" if there is no colon.
  // Throws UsageError that names what was expected, or Unavailable.
  std::function<std::unique_ptr<Machine>(const std::string& argument)> open;
};

void register_backend(Backend backend);

// Opens the machine that a --device argument names. Throws UsageError that lists the known kinds,
// or that states why a kind is not available.
std::unique_ptr<Machine> open_machine(const std::string& device);

// A kind of device and whether it works on this machine.
struct BackendState {
  std::string kind;
  std::string description;
  bool available = false;
  std::string reason;  // why not available, in one line
  std::unique_ptr<Machine>
      machine;  // opened as "--device KIND"; null if the kind needs an argument
};

// All kinds that a build can have, in a fixed order. Loads their modules and opens a machine of
// each kind, to find out whether it works.
std::vector<BackendState> backends();

}  // namespace duet
