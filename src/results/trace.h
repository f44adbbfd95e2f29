// When the parts of a record's call ran, for `duet trace`.
#pragma once

#include <string>
#include <vector>

namespace duet {

// Seconds after the call began.
struct TraceSpan {
  std::string name;
  double begin = 0, end = 0;
};

// What a reader looks at as one line: "rank 0: gemm". Spans are in any order and may overlap.
struct TraceLane {
  std::string name;
  std::vector<TraceSpan> spans;
};

// A figure that changes.
struct TraceCounter {
  std::string name;
  struct Value {
    double at = 0;  // seconds
    double value = 0;
  };
  std::vector<Value> values;
};

struct Trace {
  std::vector<TraceLane> lanes;
  std::vector<TraceCounter> counters;
};

// The spans of a list of begin, end, begin, end ... Each has the name, with its number behind if
// `numbered`.
std::vector<TraceSpan> spans_of(const std::string& name, const std::vector<double>& ends,
                                bool numbered = false);

}  // namespace duet
