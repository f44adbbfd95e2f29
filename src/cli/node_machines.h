#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/machine.h"

namespace duet {

// Whether a name of --device is one of GPUs of this node: "cuda", "hip:0,3".
bool names_gpus(const std::string& name);

// What commands that check a node use by default: all its GPUs; without GPUs, its CPU.
std::vector<std::unique_ptr<Machine>> open_gpus_or_host();

}  // namespace duet
