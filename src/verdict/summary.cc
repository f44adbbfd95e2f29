// Verdicts of a run; see summary.h.
#include "verdict/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/writers/axis_columns.h"

namespace duet {
namespace {

constexpr std::size_t kShown = 20;

bool is_doubt(Word word) { return word == Word::low || word == Word::suspect_high; }

std::string shown(const CaseId& id) {
  return fmt::format("{} {} ({} on {})", id.benchmark, case_text(id), id.engine, id.device);
}

}  // namespace

void VerdictSummary::result(const Record& record, bool) {
  if (outcome_of(record) != Outcome::measured) return;
  judge_.see(record);
  const Verdict verdict = judge_.judge(record);
  ++counts_[verdict.word];
  if (!is_doubt(verdict.word)) return;
  doubts_.push_back({shown(case_of(record)), verdict});
  const auto first = record["notes"].find(kFirstMedian);
  if (first == record["notes"].end() || !first->is_string()) return;
  doubts_.back().verdict.sentence +=
      "; measured twice, the first time in " + first->get<std::string>();
}

bool VerdictSummary::doubtful(const Record& record) const {
  return outcome_of(record) == Outcome::measured && is_doubt(judge_.judge(record).word);
}

int VerdictSummary::judged() const {
  int count = 0;
  for (const auto& [word, number] : counts_) count += word == Word::no_expectation ? 0 : number;
  return count;
}

std::string VerdictSummary::text() const {
  if (counts_.empty()) return "";
  std::string text;
  for (const auto& [word, count] : counts_) {
    text += fmt::format("{}{} {}", text.empty() ? "verdicts: " : ", ", count, name(word));
  }
  text += '\n';
  for (std::size_t i = 0; i < std::min(doubts_.size(), kShown); ++i) {
    const Verdict& verdict = doubts_[i].verdict;
    text += fmt::format("  {}: {}\n    {}\n", name(verdict.word), doubts_[i].case_text,
                        verdict.sentence);
    if (!verdict.advice.empty()) text += fmt::format("    to try: {}\n", verdict.advice);
  }
  if (doubts_.size() > kShown) {
    text += fmt::format("  and {} more; duet report shows them all\n", doubts_.size() - kShown);
  }
  return text;
}

}  // namespace duet
