#pragma once

#include <map>
#include <string>

#include "results/journal.h"
#include "results/record.h"

namespace duet {

// Maps the machines and devices of the journal NEW to their names in the journal BASE, so that the
// cases of both have the same keys.
class Renaming {
 public:
  // Renames nothing. Throws UsageError, naming both journals, unless they have a machine in common,
  // and every common machine has the same devices and models in both.
  static Renaming same_devices(const JournalContents& base, const JournalContents& now);
  // Maps machines and their devices by their order. Throws UsageError if the journals have
  // different numbers of machines.
  static Renaming by_place(const JournalContents& base, const JournalContents& now);

  // The case with BASE's names for its device, source and destination. A device without a
  // counterpart in BASE gets a name that BASE does not have: "cuda:5 of NEW".
  CaseId operator()(CaseId id) const;

 private:
  std::map<std::string, std::string> machines_;
  std::map<std::string, std::string> devices_;
};

}  // namespace duet
