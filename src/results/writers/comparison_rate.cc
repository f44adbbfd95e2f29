#include "results/writers/comparison_rate.h"

#include <nlohmann/json.hpp>

namespace duet {

std::string comparison_rate(const ComparedCase& one) {
  for (const Record* record : {one.base, one.now}) {
    const bool measured = record != nullptr && outcome_of(*record) == Outcome::measured;
    if (measured && !(*record)["rates"].empty()) return (*record)["rates"].begin().key();
  }
  return "";
}

}  // namespace duet
