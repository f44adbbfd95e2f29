#include "results/writers/comparison_rate.h"

namespace duet {

std::string comparison_rate(const ComparedCase& one) {
  for (const Record* record : {one.base, one.now}) {
    const bool measured = record != nullptr && record->outcome == Outcome::measured;
    if (measured && !record->rates.empty()) return record->rates.front().first;
  }
  return "";
}

}  // namespace duet
