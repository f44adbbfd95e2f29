// What the text and the JSON of nccl-tests have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "importing/foreign_run.h"

namespace duet {

// The conditions of a run that shape all its rows.
struct NcclTestsRun {
  std::string collective;  // Duet's name: "all_reduce"
  int ranks = 0;           // 0: unknown
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
  double microseconds = 0;
  std::optional<double> wrong;  // elements; nullopt: not checked
};

// The collective of the nccl-tests program that the text names, such as "all_reduce_perf"; "" if it
// names none. Throws UsageError for a program whose results have no record in Duet.
std::string collective_of_program(std::string_view text);

// Throws UsageError if the collective, or the number of ranks, is not known.
ForeignCase nccl_tests_case(const NcclTestsRun& run, const NcclTestsFigure& figure);

// "2.28.9" of 22809; "" of 0.
std::string nccl_version_text(std::int64_t code);

}  // namespace duet
