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
  static constexpr std::size_t kMostDoubts = 20;

  // The environment of the run.
  explicit VerdictSummary(const Record& environment) { evaluator_.see(environment); }

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

  // What this record, of a case of the run, is held to be by what is known now.
  Word word(const Record& record) const;
  // Is that LOW or SUSPECT-HIGH?
  bool doubtful(const Record& record) const;
  // How many figures had an expectation, and how many of them are LOW or SUSPECT-HIGH.
  int judged() const;
  int doubts() const;
  // How many are as they should be; those of simulated machines are a model's, and counted apart.
  int passed(bool simulated) const;

  // A line of counts, one more for simulated machines, and a line with the reason for each doubt
  // (at most `most`). Ends in a newline; "" where nothing was measured.
  std::string text(std::size_t most = kMostDoubts) const;

 private:
  struct Count {
    std::map<Word, int> measured, simulated;
  };
  struct Doubt {
    std::string case_text;
    Verdict verdict;
  };
  // What has come so far, with what is known now: engines that were measured later settle some
  // doubts.
  Count count() const;
  std::vector<Doubt> open_doubts() const;

  Evaluator evaluator_;
  Count settled_;
  std::vector<Record> doubtful_;
};

}  // namespace duet
