#include "training/models/lora_folder.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.h"
#include "training/files/weight_files.h"

namespace duet {
namespace {

constexpr const char* kPrefix = "base_model.model.model";  // the library's, of a model's layers

using Adapters = std::map<std::string, const CheckpointTensor*>;  // by Duet's name

const Tensor& adapter_tensor(const Adapters& adapters, const std::string& name) {
  const auto found = adapters.find(name);
  if (found != adapters.end() && !found->second->part) return found->second->tensor;
  throw BadArgument(fmt::format("adapter '{}': expected the whole of it", name));
}

// A copy of some columns, in new memory at the end of `buffers`.
Tensor columns_of(const Tensor& tensor, const RowRange& columns, Device& device,
                  std::vector<Buffer>& buffers) {
  Tensor part{{}, tensor.rows, columns.last - columns.first, tensor.dtype};
  const std::uint64_t size = size_of(tensor.dtype);
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(tensor.columns) * size,
                      part_bytes = static_cast<std::uint64_t>(part.columns) * size,
                      skipped = static_cast<std::uint64_t>(columns.first) * size;
  std::vector<std::byte> all(tensor.bytes()), kept;
  device.read(tensor.span, all.data());
  for (std::uint64_t begin = skipped; begin < all.size(); begin += row_bytes) {
    const auto* const from = all.data() + begin;
    kept.insert(kept.end(), from, from + part_bytes);
  }
  buffers.push_back(device.allocate(part.bytes()));
  part.span = buffers.back().span();
  device.write(part.span, kept.data());
  return part;
}

// As the library divides them.
std::vector<CheckpointTensor> library_adapters(const Qwen3Config& config, const Adapters& adapters,
                                               Device& device, std::vector<Buffer>& buffers) {
  std::vector<CheckpointTensor> all;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    for (const char* linear : kQwen3Linears) {
      RowRange own{0, config.lora.rank};
      for (const LinearPart& part : parts_of(config, linear)) {
        if (config.lora.targets.count(part.target) == 0) continue;
        const std::string name = fmt::format("block.{}.{}", layer, linear);
        const Tensor& a = adapter_tensor(adapters, name + ".lora_a");
        const Tensor& b = adapter_tensor(adapters, name + ".lora_b");
        const std::string module =
            fmt::format("{}.layers.{}.{}", kPrefix, layer, module_of(part.target));
        all.push_back({module + ".lora_A.weight", rows_of(a, own)});
        all.push_back(
            {module + ".lora_B.weight", columns_of(rows_of(b, part.rows), own, device, buffers)});
        own = {own.last, own.last + config.lora.rank};
      }
    }
  }
  for (CheckpointTensor& each : all) each.is_matrix = true;
  return all;
}

// What LoraConfig of the library needs.
std::string adapter_config(const LoraConfig& lora, const std::string& base) {
  nlohmann::ordered_json config;
  config["base_model_name_or_path"] = base;
  config["bias"] = "none";
  config["fan_in_fan_out"] = false;
  config["inference_mode"] = true;
  if (lora.alpha == std::floor(lora.alpha) && lora.alpha < 0x1p53) {
    config["lora_alpha"] = static_cast<std::int64_t>(lora.alpha);
  } else {
    config["lora_alpha"] = lora.alpha;
  }
  config["lora_dropout"] = 0.0;
  config["peft_type"] = "LORA";
  config["r"] = lora.rank;
  for (const LoraTarget each : lora.targets) config["target_modules"].push_back(name(each));
  config["task_type"] = "CAUSAL_LM";
  return config.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

void save_lora_folder(const std::string& folder, const Qwen3Config& config, const std::string& base,
                      Device& device, const std::vector<CheckpointTensor>& adapters,
                      const std::string& run) {
  Adapters by_name;
  for (const CheckpointTensor& each : adapters) by_name[each.name] = &each;
  std::vector<Buffer> buffers;
  CheckpointFiles files;
  const std::filesystem::path path(folder);
  files.checkpoints.push_back({(path / "adapter_model.safetensors").string(), metadata_of_run(run),
                               library_adapters(config, by_name, device, buffers)});
  files.texts.push_back(
      {(path / "adapter_config.json").string(), adapter_config(config.lora, base)});
  make_folder(folder);
  save_checkpoints(files);
}

}  // namespace duet
