#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "results/writers/writer.h"
#include "verdict/summary.h"

namespace duet {

// Prints one line for each section of a suite: the best figure of its benchmark and its verdict.
class SuiteSummary : public Writer {
 public:
  // `environment` and `earlier` as for VerdictSummary.
  SuiteSummary(std::ostream& out, const Environment& environment,
               const std::vector<JournalRun>& earlier = {});

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
  // State of the current section:
  std::string benchmark_, machine_;
  std::optional<Best> best_;
  int doubts_before_ = 0;    // number of doubts in earlier sections
  std::string why_nothing_;  // outcome and reason of the first case without a figure
};

}  // namespace duet
