// What the text and the JSON of nccl-tests have in common.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "importing/foreign_run.h"
#include "importing/words.h"

namespace duet {

// The conditions of a run that shape all its rows.
struct NcclTestsRun {
  std::string collective;  // Duet's name: "all_reduce"
  int ranks = 0;           // of one communicator; 0: unknown
  int groups = 1;          // communicators that run at the same time
  std::optional<int> warm_ups;
  std::string iterations;  // "": unknown
  int graph_launches = 0;  // 0: not captured
  bool cpu_time = false;   // the times are those of the CPU
};

// One row has two figures, out of place and in place.
struct NcclTestsFigure {
  std::int64_t bytes = 0;
  std::string count, type, op;  // as printed; op "none": the collective does not reduce
  std::int64_t root = -1;       // -1: none
  bool in_place = false;
  Printed microseconds;
  std::optional<Printed> algbw, busbw;  // in GB/s
  std::optional<double> wrong;          // elements; nullopt: not checked
};

// The collective of the nccl-tests program that the text names, such as "all_reduce_perf"; "" if it
// names none. Throws UsageError for a program whose results have no record in Duet.
std::string collective_of_program(std::string_view text);

// Throws UsageError if the collective, or the number of ranks, is not known, or if the bus
// bandwidth that follows from size, time and ranks is another than the printed one by more than its
// rounding.
ForeignCase nccl_tests_case(const NcclTestsRun& run, const NcclTestsFigure& figure);

// How many sizes a run prints for each combination of type, operation and root.
class NcclTestsSizes {
 public:
  void add(const NcclTestsFigure& figure);

  // Throws UsageError if not all combinations have as many sizes, or fewer than `expected`, as far
  // as that is known.
  void check(std::optional<std::int64_t> expected) const;

  std::size_t combinations() const { return rows_.size(); }

 private:
  std::map<std::string, std::int64_t> rows_;  // by combination
};

// "2.28.9" of 22809; "" of 0.
std::string nccl_version_text(std::int64_t code);

}  // namespace duet
