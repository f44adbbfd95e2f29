// What all rounds of a soak come to: in one line, in lines, and for Prometheus.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "soak/round.h"

namespace duet {

struct RoundFinding {
  int round = 0;  // 0: all of them together
  SoakFinding finding;
};

struct SoakReport {
  std::string host;
  std::vector<std::string> devices;  // names
  std::vector<std::string> models;   // by device
  std::vector<SoakRound> rounds;
  // A device's rate below this share of the median is a finding; 0: rates are not judged.
  double slow_below = 0;
  std::vector<std::string> checks;  // checks of the devices that failed: health/checks.h
  std::string stopped;              // why the run was given up; "": it was not
  bool interrupted = false;
  bool running = false;  // further rounds follow
  bool virtual_time = false;
};

// Sums over all rounds.
struct SoakTotals {
  double seconds = 0, flop = 0, compared_bytes = 0, wire_bytes = 0, wrong = 0;
};
SoakTotals totals_of(const SoakReport& report);

// A rate below the share of the median of its product's rates, over all rounds and devices of one
// model; of each such device and round. Fewer than five rates are not judged.
std::vector<RoundFinding> slow_rounds(const SoakReport& report);

// Devices that are likely or surely slower than the others in all rounds together, by the judgement
// of fleets (fleet/judge.h); of three devices or more. Nothing where rates are not judged.
std::vector<RoundFinding> slow_devices(const SoakReport& report);

// All that was found, in the order of the rounds, slow ones last.
std::vector<RoundFinding> findings_of(const SoakReport& report);

bool is_faulty(const SoakReport& report);

// "duet soak: OK node7: 360 rounds in 60 min: ..." or FAIL with what was found, at most `most` of
// it; STOPPED where a run that found nothing was interrupted. Without a newline.
std::string one_line_of(const SoakReport& report, std::size_t most = 3);

// A line for each finding.
std::string lines_of(const SoakReport& report);

// The first bytes of every such text. Only files that begin so are replaced.
extern const char* const kSoakPrometheusHead;
std::string prometheus_text(const SoakReport& report, double unix_seconds);

}  // namespace duet
