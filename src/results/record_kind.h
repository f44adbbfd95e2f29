// What a workload says of one kind of its records, those with one name of a benchmark. What
// computes rates, shows, compares and judges records asks for it and knows no workload.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record.h"
#include "results/trace.h"

namespace duet {

using Rates = std::vector<std::pair<std::string, double>>;

struct Expectation;  // verdict/expectation.h
struct Site;

// By the first kind of cost that is not 0: FLOP give "tflops", bytes on the wire "gb_per_s", else
// bytes of memory "gb_per_s".
Rates usual_rates(const Cost& cost, double seconds);

// How the console's table of a section shows the records (writers/short_table.h).
struct TableForm {
  // Sets of axes that may be columns; the first set that fits is used.
  std::vector<std::vector<std::string>> beside = {{"engine"}};
  // Marks the best figure of a line.
  bool marks_best = true;
  // Few cases get a line each, with their times, and no axis is a column.
  bool few_as_lines = false;
  // Records of the section's other kinds (peaks) get lines below the table.
  bool alone = false;
};

struct RecordKind {
  std::string benchmark;  // "gemm_peak"

  // Names of Cost::more that the records may have, in the order in which journals have them.
  std::vector<std::string> quantities = {};
  Rates (*rates)(const Cost& cost, double seconds) = usual_rates;
  // Rates and metrics that have a column in CSV tables; all others are in `other_figures`.
  std::vector<std::string> figures = {};

  // Its cases have a section of their own. Others are in that of the kind whose name is before
  // their
  // "_".
  bool own_section = false;
  TableForm table = {};
  // Of a case that follows from others: an axis that is shown even if all cases share its value.
  std::string answer = {};
  // What stands after the main rate of a record in a list of all cases; "": nothing.
  std::string (*more_text)(const Record& record) = nullptr;
  // Of derived records: a line for each of them instead of a table.
  std::string (*sentences)(const std::vector<Record>& results) = nullptr;
  // Further tables below that of a section, of all its results.
  std::string (*tables)(const std::vector<Record>& results) = nullptr;
  // A sample is several calls, so that the number of samples does not tell how long was measured.
  bool several_calls = false;

  // nullptr: the records do not tell when what ran.
  Trace (*trace)(const Record& record) = nullptr;

  // nullptr: nothing is promised for these records.
  Expectation (*expect)(const Record& record, const Site& site) = nullptr;
  // The record is a peak that other figures are held against.
  bool is_peak = false;
  // What a peak is of, or which peak a figure is compared with: "gemm bf16"; "": none.
  std::string (*peak)(const CaseId& id) = nullptr;
  // A name for what efficiencies of derived records are over: of a measured record if it is such a
  // baseline, of a derived one its baseline's; "": none.
  std::string (*baseline)(const CaseId& id) = nullptr;

  // For estimates of time. FLOP of a call on a CPU, as far as axes tell; nullptr: not known.
  double (*cpu_flop)(const CaseId& id) = nullptr;
  // The number of calls of a case that ends by it, whatever the time; nullptr: cases end by time.
  double (*calls)(const CaseId& id) = nullptr;
};

// Defined by the list of workloads (src/workload). All kinds of all workloads; a kind without a
// name and with defaults for other names, as tools have them whose output was imported.
const std::vector<RecordKind>& record_kinds();
const RecordKind& record_kind(std::string_view benchmark);

}  // namespace duet
