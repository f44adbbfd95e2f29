// Simulated fleets with planted faults, for the tests of the judgement.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fleet/samples.h"

namespace duet {

// What a measurement of a simulated fleet was of; gpus are -1 where it was of whole nodes.
struct SimulatedPlace {
  std::string kind;
  int node = 0, other_node = 0;
  int gpu = -1, other_gpu = -1;  // source and destination
};

// The share of its rate that a place lacks.
using Fault = std::function<double(const SimulatedPlace&)>;

struct SimulatedFleet {
  int nodes = 64, gpus = 8;
  std::uint64_t seed = 1;
  double noise = 0.01;   // standard deviation of a figure between runs, as a share
  double spread = 0.01;  // and between GPUs or links in order, in all their figures of a kind
  int rounds = 0;        // in which pairs of nodes measured each other
  Fault fault = [](const SimulatedPlace&) { return 0; };
};

// The figures of a fleet: GEMMs and copies to and from the host of each GPU, copies between all
// GPUs of a node in both directions, collectives of each node, messages between nodes.
class FleetSimulation {
 public:
  explicit FleetSimulation(SimulatedFleet fleet) : fleet_(std::move(fleet)) {}

  FleetSamples samples() {
    for (int node = 0; node < fleet_.nodes; ++node) {
      samples_.node("node" + std::to_string(node));
      add_gpus(node);
      add_pairs(node);
      for (const char* kind : {"collective all_reduce", "collective all_gather"}) {
        add(kind, 4, {kind, node, node});
      }
    }
    for (int round = 1; round <= fleet_.rounds; ++round) add_round(round);
    return std::move(samples_);
  }

 private:
  void add_gpus(int node) {
    for (int gpu = 0; gpu < fleet_.gpus; ++gpu) {
      add("gemm", 6, {"gemm", node, node, gpu, gpu});
      for (const char* kind : {"copy host_to_device", "copy device_to_host"}) {
        add(kind, 3, {kind, node, node, gpu, gpu});
      }
    }
  }

  void add_pairs(int node) {
    for (int from = 0; from < fleet_.gpus; ++from) {
      for (int to = 0; to < fleet_.gpus; ++to) {
        if (from != to) add("copy peer", 3, {"copy peer", node, node, from, to});
      }
    }
  }

  // Each node with the one that is `round` further.
  void add_round(int round) {
    for (int node = 0; node < fleet_.nodes; ++node) {
      const int other = (node + round) % fleet_.nodes;
      add("fabric write", 3, {"fabric write", node, other});
    }
  }

  double normal() { return static_cast<double>(random_normal(fleet_.seed, next_++)); }

  // Of a GPU or link in order, the same in all its figures of a kind.
  double own(const std::string& kind, int link) const {
    const std::uint64_t stream = fleet_.seed * 31 + kind.size();
    return fleet_.spread *
           static_cast<double>(random_normal(stream, static_cast<std::uint64_t>(link)));
  }

  void add(const std::string& kind, int sizes, const SimulatedPlace& place) {
    std::vector<int> units{unit(place.node, place.gpu)};
    const int other = unit(place.other_node, place.other_gpu);
    if (other != units[0]) units.push_back(other);
    const int number = samples_.place(units);
    const double lasting = own(kind, samples_.places()[static_cast<std::size_t>(number)].link);
    for (int size = 0; size < sizes; ++size) {
      const std::string text = kind + " of size " + std::to_string(size);
      FleetSample one;
      one.figure = samples_.figure(text, {kind, text, "gb_per_s"});
      one.place = number;
      one.usual = 0.01;
      one.value = size + lasting + fleet_.noise * normal() + std::log1p(-fleet_.fault(place));
      samples_.add(one);
    }
  }

  int unit(int node, int gpu) {
    return samples_.unit(samples_.node("node" + std::to_string(node)),
                         gpu < 0 ? "" : "cuda:" + std::to_string(gpu));
  }

  SimulatedFleet fleet_;
  FleetSamples samples_;
  std::uint64_t next_ = 0;
};

inline FleetSamples simulated(const SimulatedFleet& fleet) {
  return FleetSimulation(fleet).samples();
}

}  // namespace duet
