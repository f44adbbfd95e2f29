#pragma once

#include <optional>
#include <string>

#include "device/device.h"
#include "fabric/operation.h"
#include "team/processes.h"

namespace duet {

// The path of messages in the device's own memory. Collective: all processes call it together and
// get the same result.
//   `wanted` where it is given; else
//   direct   where the provider's library can register the memory;
//   ipc      where the provider is shm and the device can export its memory;
//   staged   otherwise.
MemoryPath choose_memory_path(Processes& processes, const std::string& provider, Device& device,
                              std::optional<MemoryPath> wanted);

}  // namespace duet
