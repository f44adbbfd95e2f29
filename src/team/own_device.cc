#include "team/own_device.h"

#include <fmt/format.h>

namespace duet {

std::string own_device(const std::string& device, const Processes& processes) {
  const bool all_gpus = device == "cuda" || device == "hip";
  if (!all_gpus || processes.size() == 1 || !processes.local_index()) return device;
  return fmt::format("{}:{}", device, *processes.local_index());
}

}  // namespace duet
