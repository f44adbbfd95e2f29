// What stands in every byte of the ranks' buffers, and who has accessed it last.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/schedule/step_order.h"

namespace duet {

// The sum of bytes of sources: byte x of a buffer has byte x + shift of `source`. A source is what
// the caller of a rank has written before a call, or kPoison.
struct Term {
  int source = 0;
  std::int64_t shift = 0;

  static constexpr int kPoison = -1;
  bool operator==(const Term& other) const {
    return source == other.source && shift == other.shift;
  }
  bool operator<(const Term& other) const {
    return source != other.source ? source < other.source : shift < other.shift;
  }
};
using Value = std::vector<Term>;  // sorted

struct ByteValue {
  std::uint64_t begin = 0, end = 0;
  Value value;
};

// The place where it is in the larger of the rank's send and receive buffers, if the call is in
// place and so the smaller one is a part of the larger one; otherwise the place itself.
Place in_outer_buffer(const CollectiveSchedule& call, const Place& place);

// One buffer. Every function returns a fault, "" if there is none.
class BufferContents {
 public:
  BufferContents(std::string name, const StepOrder& order)
      : name_(std::move(name)), order_(order) {}

  std::string read(int step, std::uint64_t begin, std::uint64_t end,
                   std::vector<ByteValue>& values);
  std::string write(int step, const ByteValue& value);

 private:
  struct Cell {
    std::uint64_t end = 0;
    int writer = 0;
    std::vector<int> readers;  // the last of each lane
    Value value;
  };
  using Cells = std::map<std::uint64_t, Cell>;  // by their first byte

  Cells::iterator split(std::uint64_t at);
  std::string between(int step, const char* does, int earlier, const char* did,
                      std::uint64_t byte) const;
  bool ordered(int earlier, int step) const {
    return earlier == step || order_.before(earlier, step);
  }

  std::string name_;
  const StepOrder& order_;
  Cells cells_;
};

// Runs all calls' steps once and returns the first race, read of nothing or wrong result.
std::string fault_of_contents(const CheckedCalls& calls, const StepOrder& order);

}  // namespace duet
