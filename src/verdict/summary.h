#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/journal.h"
#include "results/writers/writer.h"
#include "verdict/verdict.h"

namespace duet {

// The verdicts of a run, for the text at its end: the number of each, and the doubts. A doubt is a
// LOW or SUSPECT-HIGH figure.
class VerdictSummary : public Writer {
 public:
  static constexpr std::size_t kMostDoubts = 20;

  // `environment` is that of the run, `earlier` what the journal that it resumes has: peaks and
  // other engines of a case may have been measured by an earlier command.
  explicit VerdictSummary(const Environment& environment,
                          const std::vector<JournalRun>& earlier = {});

  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

  // The verdict of a record of the run, by the records seen so far.
  Word word(const Record& record) const;
  // Is the verdict LOW or SUSPECT-HIGH?
  bool doubtful(const Record& record) const;
  // The number of figures with an expectation, and the number of those that are doubts.
  int judged() const;
  int doubts() const;
  // The number of figures that are unknown because the machine was busy.
  int busy() const;
  // The number of figures that PASS, either of simulated machines or of real ones.
  int passed(bool simulated) const;

  // A line of counts, another one for simulated machines, one of efficiencies whose baseline is not
  // PASS, and each doubt with its reason (at most
  // `most` doubts). Ends in a newline; "" if nothing was measured.
  std::string text(std::size_t most = kMostDoubts) const;

 private:
  struct Count {
    std::map<Word, int> measured, simulated;
  };
  struct Doubt {
    std::string case_text;
    Verdict verdict;
  };
  // The verdicts so far. Doubts are evaluated again, because engines that are measured later may
  // settle them.
  Count count() const;
  std::vector<Doubt> open_doubts() const;

  Evaluator evaluator_;
  Count settled_;
  std::vector<Record> doubtful_;
  std::vector<std::string> warnings_;  // of derived records
};

}  // namespace duet
