// Reads the journals of a fleet: its samples for the judgement, and what else they tell of each
// node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/samples.h"

namespace duet {

// Where a journal's node has its name from.
enum class NodeNaming { host, file };  // the environment's host; the file's name without its ending
// Which figure counts where several journals of a node have the same case.
enum class Repeats { median, latest };

struct FleetOptions {
  NodeNaming naming = NodeNaming::host;
  Repeats repeats = Repeats::median;
};

// A case without a figure.
struct FailedCase {
  std::string text, outcome, reason;  // outcome: "failed", "wrong"
};

struct FleetNode {
  int journals = 0;  // that measured on it alone
  std::vector<FailedCase> failed;
  std::vector<std::string> incomplete;  // journals whose last run did not reach its end
  int lacking = 0;                      // cases that at least half of the nodes have
  std::string lacked;                   // the first of them
  std::string skipped;                  // why cases were skipped: the last reason
  // What its environments tell: "driver", "library cuBLAS", ...; of the newest that tells it.
  std::map<std::string, std::string> settings;
  std::string settings_time;  // UTC, of that environment
};

// A journal that cannot be read.
struct BrokenJournal {
  std::string path, reason;
};

struct FleetInput {
  FleetSamples samples;
  std::vector<FleetNode> nodes;  // by the numbers of `samples`
  std::vector<BrokenJournal> broken;
  int journals = 0;
  std::vector<std::string> warnings;
};

// The paths are journals, folders of journals ("*.jsonl", at any depth) and stores of duet history.
// A file that is no journal, or is cut short, is a finding and no error, if another can be read.
// Throws UsageError where a path does not exist, or no journal can be read at all.
FleetInput read_fleet(const std::vector<std::string>& paths, const FleetOptions& options);

}  // namespace duet
