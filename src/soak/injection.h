// Faults that `duet soak --inject` plants, so that alarms can be tried.
#pragma once

#include <string_view>
#include <vector>

namespace duet {

enum class InjectedFault {
  memory,      // a bit of memory that is only kept changes
  link,        // a bit changes in what arrives from another device, or from the host
  core,        // a bit of a product changes
  collective,  // a bit of what a collective brings changes; of one device: nothing
  slow,        // the device makes two multiplications for each one that counts
  counter,     // a counter of the driver grows by one
  xid,         // the driver reports an error, XID 79
  lost,        // the device fails
};

struct Injection {
  InjectedFault fault = InjectedFault::memory;
  int round = 1;
  int rank = 0;
};

// "memory@3:1,slow@7:0": fault, round and number of the device. Throws UsageError for another form,
// and for a device that a machine of `devices` devices does not have.
std::vector<Injection> parse_injections(std::string_view list, int devices);

class Injections {
 public:
  explicit Injections(std::vector<Injection> all = {}) : all_(std::move(all)) {}
  bool has(InjectedFault fault, int round, int rank) const;

 private:
  std::vector<Injection> all_;
};

}  // namespace duet
