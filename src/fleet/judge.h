// Which places of a fleet are slower than their peers. A pure function of samples: it knows neither
// files nor words, so that anything with peers to compare can call it.
//
// Each sample is compared with the same position on other nodes ("cuda:0 > cuda:1"); where fewer
// than kPositionPeers nodes have that, with all samples of its figure. A place that has parts is as
// slow as the part at the upper quarter of them: at least three quarters of its parts are slower
// than it. So one slow GPU makes no slow node, and one slow link no slow GPU. Places are judged
// from the largest to the smallest, each after what larger ones explain was taken off.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fleet/samples.h"

namespace duet {

// From the largest place to the smallest.
enum class FleetLevel {
  group,      // nodes of a switch or rack
  node,       // all its devices or NICs, or the node as a whole
  unit,       // a device or a NIC
  unit_out,   // what leaves it
  unit_in,    // what comes to it
  link,       // both directions between two units; a set of nodes that measured together
  direction,  // one of both
};
inline constexpr int kFleetLevels = 7;

enum class Sureness { possible, likely, sure };
const char* name(Sureness sureness);

// What one kind of figures says of a place.
struct FleetEvidence {
  std::string kind;
  int slow = 0, figures = 0;  // figures in which the place is slower, and those that it has
  double loss = 0;            // share of the rate that is missing: the median of the slow figures
  double most_loss = 0;       // of the slowest one,
  int slowest = 0;            // which is this figure
  bool follows = false;       // a figure of the whole node, which a suspect within it explains
};

struct FleetSuspect {
  FleetLevel level = FleetLevel::node;
  int item = 0;  // number of the group, node, unit, link or (direction) place
  std::vector<FleetEvidence> evidence;  // the strongest first
  // Probability that noise alone makes one such place or more in the whole fleet.
  double chance = 1;
  Sureness sureness = Sureness::possible;
};

// The peers of a figure, for tables and charts.
struct FigurePeers {
  int samples = 0, nodes = 0;
  double middle = 0;  // median rate's logarithm
  double spread = 0;  // standard deviation of the residuals, by their MAD
  bool judged = false;
};

struct FleetJudgement {
  std::vector<FleetSuspect> suspects;  // surest first, then those that miss most
  std::vector<FigurePeers> figures;    // by number
  std::vector<double> residuals;  // of each sample: logarithm of its rate over its peers' median
};

// A position on at least as many nodes is compared among these nodes alone.
inline constexpr int kPositionPeers = 5;
// Fewer peers are not judged.
inline constexpr int kFewestPeers = 3;
// Smaller losses are never named.
inline constexpr double kLeastLoss = 0.01;
// Probability that noise alone makes a suspect, in all of a fleet.
inline constexpr double kFalseAlarm = 0.05;

FleetJudgement judge_fleet(const FleetSamples& samples, const std::vector<FleetGroup>& groups);

// The nodes that a suspect's place is on or between.
std::vector<int> nodes_of(const FleetSuspect& suspect, const FleetSamples& samples,
                          const std::vector<FleetGroup>& groups);

}  // namespace duet
