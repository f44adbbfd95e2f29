#include "health/figures.h"

namespace duet {

void Figures::result(const Record& record, bool) {
  if (record.outcome == Outcome::measured) evaluator_.see(record);
  records_.push_back(record);
}

bool Figures::doubtful(const Record& record) const {
  if (record.outcome != Outcome::measured) return false;
  return is_doubt(evaluator_.evaluate(record).word);
}

std::vector<Figure> Figures::judged() const {
  std::vector<Figure> figures;
  for (const Record& record : records_) {
    if (record.outcome != Outcome::measured) continue;
    figures.push_back({record.id, evaluator_.evaluate(record)});
  }
  return figures;
}

std::vector<Miss> Figures::missed() const {
  std::vector<Miss> missed;
  for (const Record& record : records_) {
    const Outcome outcome = record.outcome;
    if (outcome == Outcome::measured || outcome == Outcome::derived) continue;
    missed.push_back({record.id, outcome, record.reason});
  }
  return missed;
}

}  // namespace duet
