// What a study reports of the scenarios of a set (specs/studies), and the same figures of one's
// own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record_json.h"

namespace duet {

struct FractionRange {
  double low = 0, high = 0;
};

// A figure of a study: a mean over all scenarios, and where it states them the lowest and the
// highest of its classes' means. All in fractions of ideal.
struct StudyFigure {
  std::string name;                                // the study's: "c3_base"
  std::vector<std::string> policies;               // of the fastest of these
  std::vector<std::string> memory_bound_policies;  // of GEMMs bound by memory; empty: the same
  double mean = 0;
  std::map<std::string, FractionRange> ranges;  // by collective
};

struct Study {
  std::string key;        // "conccl", the file's name
  std::string name;       // "ConCCL"
  std::string scenarios;  // a set of specs/overlap
  std::string device;     // model
  int ranks = 0;
  std::string memory_bound;  // what the names of scenarios with GEMMs bound by memory begin with
  double ideal_speedup = 0;  // mean
  std::string source;
  std::vector<StudyFigure> figures;
  std::map<std::string, std::string> classes;  // by the scenario's name without the collective
};

// Throws UsageError that names the file, the key and what was expected.
Study parse_study(const std::string& key, std::string_view text);
const std::vector<Study>& studies();
const Study& find_study(const std::string& key);  // throws UsageError

// A scenario of the study as it was measured or simulated.
struct StudyOutcome {
  std::string scenario;  // "mb1_896M all_gather"
  std::string collective;
  std::string balance;  // its class
  double ideal_speedup = 0;
  std::map<std::string, double> fraction;  // of ideal, by policy; a swept policy's fastest point
};

struct StudyRow {
  StudyFigure reported;
  std::string policies;                         // in words: "the fastest of base, priority"
  int scenarios = 0;                            // that have all policies
  double mean = 0;                              // over these
  std::map<std::string, FractionRange> ranges;  // by collective; of the study's classes
};

// A row for each figure of which a scenario has all policies. Scenarios that the study does not
// have are left out.
std::vector<StudyRow> beside_study(const Study& study, const std::vector<StudyOutcome>& outcomes);

// How many of the outcomes are in the class of the study.
int classes_as_reported(const Study& study, const std::vector<StudyOutcome>& outcomes);

// The texts of the files in specs/studies, by name.
const std::map<std::string, std::string_view>& built_in_studies();

// For the report page: what studies report of a model and of scenarios that the records of the
// device have, beside their figures. One object for each study, with its "rows".
std::vector<Json> studies_beside(const std::vector<const Record*>& records,
                                 const std::string& device, const std::string& model);

}  // namespace duet
