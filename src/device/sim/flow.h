#pragma once

#include <limits>
#include <vector>

#include "device/sim/max_min.h"

namespace duet::sim {

// Compute units that a flow occupies while it runs, however fast it gets on: they are shared out
// first (higher priority first, then max-min), and what a flow is given limits its rate.
struct Occupancy {
  int resource = -1;     // -1: none
  double units = 0;      // that it can occupy
  double unit_rate = 0;  // progress per second on one unit
  // Cut into this many equal workgroups, which run in waves: 5 on 4 units take as long as 8. 0:
  // divisible at will.
  double workgroups = 0;
  double unit_draw = std::numeric_limits<double>::infinity();  // of each use, per second and unit
  // What runs at the same time shares a cache: on more than so many units progress takes more of
  // each use, on all of them 1 + crowding times what it takes on so many.
  double uncrowded_units = std::numeric_limits<double>::infinity();
  double crowding = 0;
};

// Flows of the other kind slow a flow down before a resource is full, as waiting for memory grows
// with what is asked of it: to 1 / (1 + slope x their share of the resource) of what it would do
// without them.
struct LoadSlowdown {
  int resource = -1;  // -1: none
  double slope = 0;
  bool transfer = false;  // the flow's kind: it moves data, or it computes
};

// Units run slower the more power is drawn: at all of them computing, and nothing else drawing, at
// `frequency` of their full clock; with a share u of them, and a share p of the power drawn by
// others, at frequency x ((1 - p) / u)^(1/3) of it, for power goes with the clock's third power.
struct PowerThrottle {
  int power = -1;        // the resource that others draw from; -1: none
  double frequency = 1;  // rates of what computes are given at this one, others' at the full clock
};

// An amount of work whose rate follows from what it shares with other flows (flow_rates.h).
struct Flow {
  double amount = 0;  // to be done; its unit is the uses'
  double weight = 1;  // rates rise together in proportion to it: flows whose progress is counted
                      // in different units need it to share alike
  double cap = std::numeric_limits<double>::infinity();  // per second
  int priority = 0;  // for the occupancy alone; bandwidth knows no priorities
  std::vector<ResourceUse> uses;
  Occupancy occupancy;
  LoadSlowdown load;
  PowerThrottle throttle;  // of a flow that occupies units
};

}  // namespace duet::sim
