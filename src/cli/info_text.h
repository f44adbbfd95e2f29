// The sections of `duet info` as text.
#pragma once

#include <string>
#include <vector>

#include "device/machine.h"
#include "fabric/library.h"
#include "results/libraries.h"

namespace duet {

std::string host_text();
std::string backends_text(const std::vector<BackendState>& states);
std::string machine_text(Machine& machine);  // devices, and the links between them as a matrix
std::string fabric_text(const FabricOverview& fabric);
std::string libraries_text(const std::vector<LibraryState>& states);

}  // namespace duet
