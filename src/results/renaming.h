// The devices of two journals matched, so that a case of one is found in the other.
#pragma once

#include <map>
#include <string>

#include "results/journal.h"
#include "results/record.h"

namespace duet {

// What NEW's machines and devices are called in BASE.
class Renaming {
 public:
  // Nothing is renamed. Throws UsageError, naming both journals, unless they have a machine in
  // common, and every machine that both name has the same devices and models in both.
  static Renaming same_devices(const JournalContents& base, const JournalContents& now);
  // First machine to first machine, device to device by place. Throws UsageError if the journals
  // are not of equally many machines.
  static Renaming by_place(const JournalContents& base, const JournalContents& now);

  // The case with its device and the ends of its path as BASE calls them. A device for which BASE
  // has none is none of BASE's: "cuda:5 of NEW".
  CaseId operator()(CaseId id) const;

 private:
  std::map<std::string, std::string> machines_;
  std::map<std::string, std::string> devices_;
};

}  // namespace duet
