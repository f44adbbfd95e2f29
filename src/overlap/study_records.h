#pragma once

#include <string>
#include <vector>

#include "results/record_json.h"

namespace duet {

// For the report page: what studies report of a model and of scenarios that the records of the
// device have, beside their figures. One object for each study, with its "rows".
std::vector<Json> studies_beside(const std::vector<const Record*>& records,
                                 const std::string& device, const std::string& model);

}  // namespace duet
