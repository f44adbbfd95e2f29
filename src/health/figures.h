#pragma once

#include <vector>

#include "results/writers/writer.h"
#include "verdict/verdict.h"

namespace duet {

// A measured case and its verdict.
struct Figure {
  CaseId id;
  Verdict verdict;
};

// A case that left wrong data, failed, or could not be measured.
struct Miss {
  CaseId id;
  Outcome outcome = Outcome::failed;
  std::string reason;
};

// Keeps a run's records, and judges them when all are there.
class Figures : public Writer {
 public:
  explicit Figures(const Environment& environment) { evaluator_.see(environment); }

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

  const std::vector<Record>& records() const { return records_; }
  // Is the record's verdict LOW or SUSPECT-HIGH, by the records seen so far?
  bool doubtful(const Record& record) const;
  std::vector<Figure> judged() const;
  std::vector<Miss> missed() const;

 private:
  Evaluator evaluator_;
  std::vector<Record> records_;
};

}  // namespace duet
