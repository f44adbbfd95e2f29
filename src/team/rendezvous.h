#pragma once

#include <memory>
#include <string>

#include "team/hub.h"
#include "team/launch.h"

namespace duet {

std::string host_name();

// Opens the hub in process 0 (null elsewhere). With a launcher's broadcast, completes `launch` with
// the hub's address in all processes. Collective. Throws UsageError where the port is taken.
std::unique_ptr<Hub> open_hub(Launch& launch);

// Tries until the hub is there and has let this process in. Throws Timeout saying where it was
// looked for, and UsageError with the hub's reason where it does not.
Socket connect_to_hub(const Launch& launch, const std::string& name, double deadline_seconds);

}  // namespace duet
