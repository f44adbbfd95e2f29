// What a trace of a training or inference step says of the calls that `duet replay` makes again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "collectives/collective.h"
#include "gemm/problem.h"

namespace duet {

// A collective as one rank of the recorded run called it.
struct RecordedCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  DType dtype = DType::int8;             // int8: bytes
  std::uint64_t sent = 0, received = 0;  // bytes of the rank's buffers; 0: unknown
  int ranks = 0;                         // of its group; 0: unknown
  std::string group;                     // its name; "": unknown
  std::optional<std::int64_t> number;    // among its group's calls, by which waits name it
  bool blocking = false;                 // later compute waits for it
};

// The compute stream waits for collectives: for that with the number in the group; without a number
// for all of the group; without a group for all.
struct RecordedWait {
  std::string group;
  std::optional<std::int64_t> number;
};

// What is not replayed, and why.
struct RecordedRest {
  std::string reason;  // "barrier", "aten::mm of Double"
};

struct RecordedCall {
  std::variant<GemmProblem, RecordedCollective, RecordedWait, RecordedRest> what;
  double seconds = 0;         // on the device; 0: unknown
  double begin = 0, end = 0;  // there, in seconds of the trace; end 0: unknown
  std::int64_t step = -1;     // that the trace marks; -1: none
};

// A step that a trace marks, as ProfilerStep#N of PyTorch's profiler.
struct RecordedStep {
  std::int64_t number = 0;
  double seconds = 0;  // 0: unknown
};

struct RecordedTrace {
  std::string form;                 // "PyTorch profiler"
  std::vector<RecordedCall> calls;  // in the order in which they were issued
  std::vector<RecordedStep> steps;
  double seconds = 0;                // from the first call to the end of the last one; 0: unknown
  std::vector<std::string> remarks;  // on what the form does not tell
};

// What of a trace is replayed.
struct RecordedPart {
  std::optional<std::int64_t> step;  // none: the last one with calls; without marks, all
  bool all_steps = false;
  std::int64_t from = 1, to = 0;  // numbers of calls of it, the first being 1; to 0: the last one
};

// Those calls, with the seconds that they took as a whole. Throws UsageError where the trace has
// none, or not the step.
RecordedTrace part_of(RecordedTrace trace, const RecordedPart& part);

}  // namespace duet
