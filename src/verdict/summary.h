// What a run's end says of its verdicts: how many of each, and what is not as it should be.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/writers/writer.h"
#include "verdict/verdict.h"

namespace duet {

class VerdictSummary : public Writer {
 public:
  // The environment of the run.
  explicit VerdictSummary(const Record& environment) { judge_.see(environment); }

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

  // Would this record, of a case of the run, be LOW or SUSPECT-HIGH?
  bool doubtful(const Record& record) const;
  // Figures that are LOW or SUSPECT-HIGH.
  int doubts() const { return static_cast<int>(doubts_.size()); }
  int judged() const;

  // A line of counts, and a line with the reason for each doubt (at most 20). Ends in a newline; ""
  // where nothing was measured.
  std::string text() const;

 private:
  struct Doubt {
    std::string case_text;
    Verdict verdict;
  };
  Judge judge_;
  std::map<Word, int> counts_;
  std::vector<Doubt> doubts_;
};

}  // namespace duet
