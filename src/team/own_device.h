#pragma once

#include <string>

#include "team/processes.h"

namespace duet {

// --device as this process is to open it. A process that knows its place on its node drives one
// GPU: of "cuda" (hip) it opens cuda:PLACE; what names GPUs is opened as it is.
std::string own_device(const std::string& device, const Processes& processes);

}  // namespace duet
