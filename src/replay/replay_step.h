// The calls of a trace on so many ranks: each problem once, and the order of all calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/recorded.h"

namespace duet {

// Times of equal calls in the trace.
struct RecordedTimes {
  int calls = 0;
  double seconds = 0;  // the mean of those that the trace tells; 0: it tells none
};

struct ReplayGemm {
  GemmProblem problem;
  RecordedTimes recorded;
};

struct ReplayCollective {
  Collective collective;
  int recorded_ranks = 0;  // of its group; 0: unknown
  RecordedTimes recorded;
};

struct ReplayCall {
  enum class Kind { gemm, collective, wait };
  Kind kind = Kind::gemm;
  std::size_t index = 0;  // of the GEMM or collective; of a wait, how many collectives it awaits
};

struct ReplayStep {
  std::vector<ReplayGemm> gemms;
  std::vector<ReplayCollective> collectives;
  std::vector<ReplayCall> calls;
  bool has_waits = false;  // that the trace tells
  double seconds = 0;      // recorded, of the whole; 0: unknown

  int gemm_calls() const;
  int collective_calls() const;
};

// Collectives go over all ranks of the machine. A rank's larger buffer keeps its bytes, rounded
// down to equal parts.
//
// Collectives run one behind the other, so that a wait for one awaits all that were issued before
// it. A wait that names none of the step's collectives is left out.
ReplayStep replay_step(const RecordedTrace& trace, int ranks);

// How often something was left out, with the recorded seconds of it.
struct LeftOut {
  int calls = 0;
  double seconds = 0;
};
std::map<std::string, LeftOut> left_out_of(const RecordedTrace& trace);  // by reason

// A collective of the trace, as it is called on so many ranks. Unknown groups are taken for all.
Collective scaled(const RecordedCollective& recorded, int ranks);

// What `duet replay --list` shows: distinct calls with their counts, bytes and FLOP, as recorded,
// and what is left out. `name` is the file's.
std::string found_text(const std::string& name, const RecordedTrace& trace);

}  // namespace duet
