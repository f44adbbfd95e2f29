// How the processes of a run find process 0.
#pragma once

#include <memory>
#include <string>

#include "team/hub.h"
#include "team/launch.h"

namespace duet {

std::string host_name();

// In process 0, opens the hub; where the launcher tells the others of it, completes `launch` with
// where it is. Called by all processes. Throws UsageError where the port is taken.
std::unique_ptr<Hub> open_hub(Launch& launch);

// Tries until the hub is there and has let this process in. Throws Timeout saying where it was
// looked for, and UsageError with the hub's reason where it does not.
Socket connect_to_hub(const Launch& launch, const std::string& name, double deadline_seconds);

}  // namespace duet
