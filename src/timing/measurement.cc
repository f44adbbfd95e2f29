#include "timing/measurement.h"

namespace duet {

Measurement skipped_measurement(const CaseId& id, std::string reason) {
  Measurement result;
  result.id = id;
  result.skipped = Skipped{std::move(reason)};
  return result;
}

Case skipped_case(const CaseId& id, std::string reason, const std::optional<Mode>& mode) {
  return {id, [skipped = skipped_measurement(id, std::move(reason))] { return skipped; }, mode};
}

}  // namespace duet
