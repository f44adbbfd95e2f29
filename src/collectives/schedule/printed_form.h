// A schedule for programs: one JSON object (docs/schedules.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "collectives/schedule/checker.h"

namespace duet {

// Of one call by all ranks. `title` in words. `shared`: other schedules have the same semaphores
// and slots.
nlohmann::ordered_json printed_form(const CollectiveSchedule& schedule, const std::string& title,
                                    bool shared = false);

}  // namespace duet
