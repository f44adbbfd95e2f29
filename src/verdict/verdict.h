// A verdict compares a figure with its expectation: PASS, LOW, SUSPECT-HIGH, unknown: busy or no
// expectation, each with a sentence that gives the reason. There is no PASS without an expectation.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "results/record.h"
#include "verdict/expectation.h"

namespace duet {

// A rate under this share of the expected one is LOW.
inline constexpr double kLowBelow = 0.90;
// A rate over this share of its bound is SUSPECT-HIGH: wrong until explained. A measured bound has
// noise, so its limit is higher.
inline constexpr double kHighAbove = 1.02;
inline constexpr double kHighAboveMeasured = 1.05;

// busy: a figure of a CPU, or the peak that it is compared with, was measured while other programs
// used much of the CPU.
enum class Word { pass, low, suspect_high, busy, no_expectation };
const char* name(Word word);  // "PASS", "LOW", "SUSPECT-HIGH", "unknown: busy", "no expectation"
bool is_doubt(Word word);     // LOW or SUSPECT-HIGH
bool is_judged(Word word);    // PASS or a doubt

struct Verdict {
  Word word = Word::no_expectation;
  std::string rate;  // name of the record's first rate: "gb_per_s"; "" if it has none
  double value = 0;
  std::optional<double> expected, bound;  // in the unit of `rate`
  std::string sentence;
  std::string advice;      // "" if there is none
  bool simulated = false;  // the machine is simulated
};

// The ceilings of a device, for the charts of the report.
struct Ceilings {
  std::string model;                 // as the environment names it
  const DeviceSpec* spec = nullptr;  // nullptr: specs/devices does not have the model
  MeasuredPeaks peaks;
  double link_gb_per_s = 0;  // between two devices, in one direction; 0: not known
};

// Evaluates the records of a journal. It must see() them in the order in which a run writes them: a
// verdict uses the environment, the peaks and the other engines of the case that were seen.
// A verdict is about the machine. If one engine of a case is LOW and another passes, the machine is
// healthy, and the first one gets no verdict but a comparison.
class Evaluator {
 public:
  void see(const Environment& environment);
  void see(const Record& record);
  // The verdict of a record with outcome `measured`. Its environment and peaks must have been seen.
  // Other engines of the case may be seen later; that may change LOW to no expectation.
  Verdict evaluate(const Record& record) const;
  // What is to be said of a derived record, "" if nothing: an efficiency (RecordKind::baseline)
  // over a baseline that is slower than it should be, or of which that is not known, shows little.
  std::string warning(const Record& record) const;
  // The ceilings by the device of records, from all records seen.
  std::map<std::string, Ceilings> ceilings() const;

 private:
  struct DeviceUnderVerdict {
    MachineFacts machine;
    std::string model;
    MeasuredPeaks peaks;
    // By what a peak is of: the load beside one that was therefore not taken.
    std::map<std::string, std::string> disturbed;
  };
  struct Baseline {
    double seconds = 0;
    Verdict verdict;
  };
  static void describe(DeviceUnderVerdict& place, const MachineFacts& machine);
  // Of the record's device; nullptr if no environment describes it.
  const DeviceUnderVerdict* place_of(const Record& record) const;
  void see_baseline(const Record& record, const Verdict& verdict);
  Site site(const DeviceUnderVerdict& place) const;
  Verdict evaluate_alone(const Record& record) const;

  std::map<std::string, DeviceUnderVerdict> places_;  // by the names that `--device` has
  std::map<std::string, DeviceUnderVerdict>
      parts_;  // single devices of machines, as cuda:3 of cuda
  // By the case's key without the engine: the engines whose last record passed, with their rates.
  std::map<std::string, std::map<std::string, double>> passed_;
  std::map<std::string, Baseline> baselines_;  // by RecordKind::baseline
  ByName<std::string> variables_;
};

}  // namespace duet
