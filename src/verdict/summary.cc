#include "verdict/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/writers/axis_columns.h"

namespace duet {
namespace {

std::string shown(const CaseId& id) {
  return fmt::format("{} {} ({} on {})", id.benchmark, case_text(id), id.engine, id.device);
}

std::string counts_text(const char* head, const std::map<Word, int>& counts) {
  std::string text;
  for (const auto& [word, number] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? head : ", ", number, name(word));
  }
  return text.empty() ? "" : text + '\n';
}

int judged_of(const std::map<Word, int>& counts) {
  int sum = 0;
  for (const auto& [word, number] : counts) sum += is_judged(word) ? number : 0;
  return sum;
}

int of(const std::map<Word, int>& counts, Word word) {
  const auto found = counts.find(word);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

VerdictSummary::VerdictSummary(const Environment& environment,
                               const std::vector<JournalRun>& earlier) {
  for (const JournalRun& run : earlier) {
    evaluator_.see(run.environment);
    for (const Record& record : run.results) evaluator_.see(record);
  }
  evaluator_.see(environment);
}

void VerdictSummary::result(const Record& record, bool) {
  if (record.outcome == Outcome::derived) {
    const std::string warning = evaluator_.warning(record);
    if (!warning.empty()) warnings_.push_back(fmt::format("{}: {}", shown(record.id), warning));
  }
  if (record.outcome != Outcome::measured) return;
  evaluator_.see(record);
  const Verdict verdict = evaluator_.evaluate(record);
  if (is_doubt(verdict.word)) {
    doubtful_.push_back(record);
  } else {
    ++(verdict.simulated ? settled_.simulated : settled_.measured)[verdict.word];
  }
}

Word VerdictSummary::word(const Record& record) const {
  return record.outcome == Outcome::measured ? evaluator_.evaluate(record).word
                                             : Word::no_expectation;
}

bool VerdictSummary::doubtful(const Record& record) const { return is_doubt(word(record)); }

VerdictSummary::Count VerdictSummary::count() const {
  Count counts = settled_;
  for (const Record& record : doubtful_) {
    const Verdict verdict = evaluator_.evaluate(record);
    ++(verdict.simulated ? counts.simulated : counts.measured)[verdict.word];
  }
  return counts;
}

std::vector<VerdictSummary::Doubt> VerdictSummary::open_doubts() const {
  std::vector<Doubt> doubts;
  for (const Record& record : doubtful_) {
    Verdict verdict = evaluator_.evaluate(record);
    if (!is_doubt(verdict.word)) continue;
    if (const std::string* first = record.notes.find(kFirstMedian)) {
      verdict.sentence += "; measured twice, the first time in " + *first;
    }
    doubts.push_back({shown(record.id), std::move(verdict)});
  }
  return doubts;
}

int VerdictSummary::judged() const {
  const Count counts = count();
  return judged_of(counts.measured) + judged_of(counts.simulated);
}

int VerdictSummary::doubts() const { return static_cast<int>(open_doubts().size()); }

int VerdictSummary::busy() const { return of(count().measured, Word::busy); }

int VerdictSummary::passed(bool simulated) const {
  const Count counts = count();
  return of(simulated ? counts.simulated : counts.measured, Word::pass);
}

std::string VerdictSummary::text(std::size_t most) const {
  const Count counts = count();
  std::string text = counts_text("verdicts: ", counts.measured) +
                     counts_text("verdicts on simulated machines: ", counts.simulated);
  if (!warnings_.empty()) {
    text += fmt::format("{} {} a baseline that is not PASS, as {}\n", warnings_.size(),
                        warnings_.size() == 1 ? "efficiency is over" : "efficiencies are over",
                        warnings_.front());
  }
  const std::vector<Doubt> doubts = open_doubts();
  for (std::size_t i = 0; i < std::min(doubts.size(), most); ++i) {
    const Verdict& verdict = doubts[i].verdict;
    text += fmt::format("  {}: {}\n    {}\n", name(verdict.word), doubts[i].case_text,
                        verdict.sentence);
    if (!verdict.advice.empty()) text += fmt::format("    to try: {}\n", verdict.advice);
  }
  if (doubts.size() > most) {
    text += fmt::format("  and {} more; duet report shows them all\n", doubts.size() - most);
  }
  return text;
}

}  // namespace duet
