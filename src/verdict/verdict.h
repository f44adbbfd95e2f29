// Is a figure as it should be? PASS, LOW, SUSPECT-HIGH, or nothing to hold it against, each with a
// sentence that says why. Never PASS without an expectation.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/record.h"
#include "verdict/expectation.h"

namespace duet {

// A rate under this share of the expected one is LOW.
inline constexpr double kLowBelow = 0.90;
// A rate over this share of what physics allows is SUSPECT-HIGH: wrong until explained. Bounds that
// were measured have noise of their own.
inline constexpr double kHighAbove = 1.02;
inline constexpr double kHighAboveMeasured = 1.05;

enum class Word { pass, low, suspect_high, no_expectation };
const char* name(Word word);  // "PASS", "LOW", "SUSPECT-HIGH", "no expectation"

struct Verdict {
  Word word = Word::no_expectation;
  std::string rate;  // of the record: "gb_per_s"; "" if it has none
  double value = 0;
  std::optional<double> expected, bound;  // in that rate's unit
  std::string sentence;
  std::string advice;      // "" where nothing is to be done
  bool simulated = false;  // the machine has virtual time: nothing was measured
};

// What is known of the ceilings of a device: for charts that draw a roof.
struct Ceilings {
  std::string model;                 // of the environment record
  const DeviceSpec* spec = nullptr;  // of the model
  MeasuredPeaks peaks;
  double link_gb_per_s = 0;  // one pair, one way; 0: not promised
};

// Knows the environments and the peaks of a journal's records in order, as a run writes them, and
// which engines reached what they should. A verdict is about the machine: where one engine of a
// case is under what is expected of it and another is not, the first gets no verdict but a
// comparison.
class Evaluator {
 public:
  // Takes in an environment record or a result (a CPU's peaks, an engine beside others). Records
  // that were checked by the journal's reader, or made by this program.
  void see(const Record& record);
  // Of a record with outcome `measured`, after all it depends on was seen. The same case by other
  // engines may be seen later, and then changes LOW to no expectation.
  Verdict evaluate(const Record& record) const;
  // By the record's device, over all that was seen.
  std::map<std::string, Ceilings> ceilings() const;

 private:
  struct Place {
    Record machine;
    std::string model;
    MeasuredPeaks peaks;
  };
  void see_environment(const Record& environment);
  Site site(const Place& place) const;
  Verdict evaluate_alone(const Record& record) const;

  std::map<std::string, Place> places_;  // by device
  // Of each case, by its key without the engine: the engines that passed last, with their rates.
  std::map<std::string, std::map<std::string, double>> passed_;
  std::map<std::string, std::string> variables_;
};

Record verdict_to_json(const Verdict& verdict);

}  // namespace duet
