#include "training/models/lora_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "device/machine.h"

namespace duet {
namespace {

class LoraFolder : public ::testing::Test {
 protected:
  LoraFolder() { std::filesystem::remove_all(folder_); }
  ~LoraFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* file) const { return (folder_ / file).string(); }

  // Two layers of width 6, 2 heads of 4 over one of k and v: 16 rows of qkv.
  static Qwen3Config config() {
    Qwen3Config config{"small", 2, 2, 1, 4, 6, 5, 7, 1, 4};
    config.lora = {2, 3, {LoraTarget::q, LoraTarget::v, LoraTarget::down}};
    return config;
  }

  // Element e of the adapter at place p of the model's is 1000 p + e.
  std::vector<CheckpointTensor> counted_adapters() {
    std::vector<CheckpointTensor> all;
    for (const ModelParameter& about : parameters(config())) {
      if (about.frozen) continue;
      std::vector<float> values;
      for (std::int64_t e = 0; e < about.count(); ++e) {
        values.push_back(static_cast<float>(1000 * all.size()) + static_cast<float>(e));
      }
      buffers_.push_back(device_.allocate(values.size() * sizeof(float)));
      device_.write(buffers_.back().span(), values.data());
      all.push_back({about.name, {buffers_.back().span(), about.rows, about.columns, DType::fp32}});
    }
    return all;
  }

  std::vector<float> read(const Checkpoint& file, const std::string& name) {
    const CheckpointEntry& entry = file.entries().at(name);
    Buffer buffer = device_.allocate(entry.end - entry.begin);
    const auto rows = static_cast<std::int64_t>(entry.shape.at(0)),
               columns = static_cast<std::int64_t>(entry.shape.at(1));
    file.convert({name, {buffer.span(), rows, columns, DType::fp32}, std::nullopt, 0, true});
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    device_.read(buffer.span(), values.data());
    return values;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("duet_lora_" + std::to_string(::getpid()));
  std::unique_ptr<Machine> machine_ = open_machine("host");
  Device& device_ = machine_->device(0);
  std::vector<Buffer> buffers_;
};

TEST_F(LoraFolder, HasTheAdaptersOfEachLinear) {
  save_lora_folder(folder_.string(), config(), "base", device_, counted_adapters());
  const Checkpoint file(path("adapter_model.safetensors"));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  std::map<std::string, std::vector<std::uint64_t>> shapes;
  for (const auto& [name, entry] : file.entries()) shapes[name] = entry.shape;
  const std::string layer = "base_model.model.model.layers.1.";
  EXPECT_EQ(shapes.size(), 12u);
  EXPECT_EQ(shapes[layer + "self_attn.q_proj.lora_A.weight"], (std::vector<std::uint64_t>{2, 6}));
  EXPECT_EQ(shapes[layer + "self_attn.v_proj.lora_B.weight"], (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(shapes[layer + "mlp.down_proj.lora_A.weight"], (std::vector<std::uint64_t>{2, 5}));
  // Of the second block, a of qkv is at place 4: rows 0 and 1 are of q, 2 and 3 of v.
  EXPECT_EQ(
      read(file, layer + "self_attn.v_proj.lora_A.weight"),
      (std::vector<float>{4012, 4013, 4014, 4015, 4016, 4017, 4018, 4019, 4020, 4021, 4022, 4023}));
  // b is at place 5, of four columns; v is after eight rows of q and four of k.
  EXPECT_EQ(read(file, layer + "self_attn.v_proj.lora_B.weight"),
            (std::vector<float>{5050, 5051, 5054, 5055, 5058, 5059, 5062, 5063}));
  EXPECT_EQ(read(file, layer + "self_attn.q_proj.lora_B.weight").at(3), 5005);
}

TEST_F(LoraFolder, SaysWhatTheLibraryNeeds) {
  save_lora_folder(folder_.string(), config(), "/models/base", device_, counted_adapters());
  std::ifstream file(path("adapter_config.json"));
  const auto found = nlohmann::json::parse(file);
  EXPECT_EQ(found.at("peft_type"), "LORA");
  EXPECT_EQ(found.at("r"), 2);
  EXPECT_EQ(found.at("lora_alpha"), 3);
  EXPECT_EQ(found.at("target_modules"),
            (std::vector<std::string>{"q_proj", "v_proj", "down_proj"}));
  EXPECT_EQ(found.at("base_model_name_or_path"), "/models/base");
}

TEST_F(LoraFolder, RefusesWhatIsMissing) {
  std::vector<CheckpointTensor> adapters = counted_adapters();
  adapters.pop_back();
  EXPECT_THROW(save_lora_folder(folder_.string(), config(), "base", device_, adapters),
               BadArgument);
  EXPECT_FALSE(std::filesystem::exists(folder_));
  std::ofstream(folder_) << "a file";
  EXPECT_THROW(save_lora_folder(folder_.string(), config(), "base", device_, counted_adapters()),
               UsageError);
}

}  // namespace
}  // namespace duet
