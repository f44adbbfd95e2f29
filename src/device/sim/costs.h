// From operations to latencies and flows on a platform's resources: the machine's model of time.
#pragma once

#include <map>
#include <vector>

#include "device/sim/clock.h"
#include "device/sim/platform.h"
#include "device/stream.h"

namespace duet::sim {

// What an operation costs: the latency passes first, then the flow.
struct Charge {
  double latency = 0;
  Flow flow;
  bool takes_engine = false;  // one of the issuer's DMA engines, from before the latency to the end
  bool resident = false;      // a part of a kernel that has its units already
};

// Who issues an operation.
struct Issuer {
  int device = 0;
  int priority = 0;
  int rail = -1;  // of those of the device, for what goes to another node; -1: all of them
};

// Where a side of a copy lies.
struct Place {
  int device = 0;
  MemoryKind kind = MemoryKind::device;
};

// Where a kernel's items and its peers' words lie.
struct KernelPlaces {
  struct Item {
    std::vector<Place> sources;
    std::vector<Place> destinations;
    double bytes = 0;  // of each
  };
  std::vector<Item> items;
  std::vector<Place> arrivals;
  int blocks = 0;
  // Where a library's kernel runs it:
  Between between = Between::direct;
  double latency = 0;         // beyond the launch
  double link_share = 1;      // of what a kernel gets of a link
  double unit_copy_rate = 0;  // 0: the device's own
  double memory = 1;          // traffic, times what is read and written
  double ramp_bytes = 0;      // LibraryModel's
  double network_share = 1;   // likewise
};

class CostModel {
 public:
  // Makes the machine's resources known to the clock. Both must outlive it.
  CostModel(const Platform& platform, VirtualClock& clock);

  // Throws BadArgument for what the hardware cannot do: kernels do not reach plain memory.
  Charge copy(const Copy& copy, Place source, Place destination, Issuer issuer) const;
  Charge fill(double bytes, Place place, Issuer issuer) const;
  // Throws BadArgument for a demand that makes no sense, Unavailable for a dtype without a rate.
  Charge task(const Task& task, Issuer issuer) const;
  // Without its barriers. Throws BadArgument as copy().
  Charge kernel(const KernelPlaces& places, Issuer issuer) const;
  // Of one item by itself; the first one includes the launch.
  Charge item(const KernelPlaces& places, std::size_t item, Issuer issuer) const;
  // From a kernel's writing a word to its being seen.
  double write(Place word, Issuer issuer) const;
  // The same of all its peers' words.
  double arrive(const KernelPlaces& places, Issuer issuer) const;
  double signal(Place word, Issuer issuer) const;
  bool same_node(int a, int b) const {
    return a / platform_.node_devices == b / platform_.node_devices;
  }
  double wait() const { return platform_.device.wait_latency; }

 private:
  struct Resources {  // of one device
    int units, memory, power, host_in, host_out, port_in, port_out, network_in, network_out;
    std::vector<int> rails_in, rails_out;
  };

  const Resources& of(int device) const { return devices_[static_cast<std::size_t>(device)]; }
  std::vector<ResourceUse> path(const Copy& copy, Place source, Place destination,
                                Issuer issuer) const;
  void add_link(std::vector<ResourceUse>& uses, int from, int to, double rate, int rail = -1) const;
  double link_latency(int from, int to) const;
  void add_power(std::vector<ResourceUse>& uses, int from, int to, double joules) const;
  PowerThrottle throttle(Issuer issuer) const;
  struct Shares {
    double link = 1;    // of what a kernel gets of a link
    double memory = 1;  // traffic, times what is read and written
    // Of what goes straight to each peer, within the node and beyond it.
    double inside = 1, beyond = 1;
    bool ring = false;  // all goes to two neighbours instead
  };
  void cross_nodes(Shares& shares, const KernelPlaces& places) const;
  double steps(Between between, int ways) const;
  Shares shares_of(const KernelPlaces& places, Issuer issuer) const;
  void add_traffic(std::map<int, double>& load, Place place, double bytes, bool reads,
                   const Shares& shares, Issuer issuer) const;
  void pass_on(std::map<int, double>& load, double bytes, const Shares& shares,
               Issuer issuer) const;
  Occupancy copy_units(const KernelShape& shape, bool to_peer, Issuer issuer) const;

  const Platform& platform_;
  std::vector<Resources> devices_;
  std::vector<int> links_;  // of a mesh, by from * devices + to
};

}  // namespace duet::sim
