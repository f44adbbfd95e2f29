// Adapters of a Qwen3 in a folder as Hugging Face's peft library saves them: adapter_config.json
// and adapter_model.safetensors.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "training/files/checkpoint.h"
#include "training/models/qwen3_config.h"

namespace duet {

// `adapters`: the parameters NAME.lora_a and NAME.lora_b of the model, by Duet's names, whole, in
// memory of the device. `run`: that saves them (metadata_of_run()). `base`: what they belong to, a
// folder or a name, for the library. Creates the folder if it is missing. Files that are there are
// replaced together, as save_checkpoints() does. Throws UsageError if `folder` is no folder and
// cannot become one, BadArgument unless all adapters are given, and Error if it cannot be written.
// Blocking; it waits for no stream.
void save_lora_folder(const std::string& folder, const Qwen3Config& config, const std::string& base,
                      Device& device, const std::vector<CheckpointTensor>& adapters,
                      const std::string& run = {});

}  // namespace duet
