#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// One benchmark on one machine.
struct Section {
  std::string benchmark;  // "copy"
  std::string machine;    // "sim:mi300x-8"
  std::string hardware;   // "8 x AMD Instinct MI300X"
  std::vector<CaseId> cases;
};

// Shows or stores records during a run. For each section the runner calls begin(), then result()
// for each record, then end().
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void begin(const Section& section) = 0;
  // `resumed`: the record was read from the journal of an earlier run.
  virtual void result(const Record& record, bool resumed) = 0;
  virtual void end() = 0;
};

}  // namespace duet
