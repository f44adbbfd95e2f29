// Which way messages in a device's own memory take.
#pragma once

#include <optional>
#include <string>

#include "device/device.h"
#include "fabric/operation.h"
#include "team/processes.h"

namespace duet {

// The one that is wanted; else direct, where the provider's library reaches the memory; else ipc
// over shared memory, where the device's memory can be mapped; else staged. The same in all
// processes, which call it together.
MemoryPath choose_memory_path(Processes& processes, const std::string& provider, Device& device,
                              std::optional<MemoryPath> wanted);

}  // namespace duet
