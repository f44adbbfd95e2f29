// What a suite has found, a line a benchmark: its best figure, and whether that is as it should be.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "results/writers/writer.h"
#include "verdict/summary.h"

namespace duet {

class SuiteSummary : public Writer {
 public:
  // The environment of the run.
  SuiteSummary(std::ostream& out, const Record& environment);

  void begin(const Section& section) override;
  void result(const Record& record, bool resumed) override;
  void end() override;

 private:
  struct Best {
    double value = 0;
    Record record;
  };
  std::string verdict_text() const;

  std::ostream& out_;
  VerdictSummary verdicts_;
  bool first_ = true;
  // Of the section:
  std::string benchmark_, machine_;
  std::optional<Best> best_;
  int doubts_before_ = 0;    // of the sections before
  std::string why_nothing_;  // the first case without a figure, and its reason
};

}  // namespace duet
