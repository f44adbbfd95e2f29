// Folders with a Qwen3 as the transformers library writes them, byte by byte, for tests.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/machine.h"
#include "training/models/qwen3_folder.h"
#include "training/models/qwen3_json.h"

namespace duet {

// Of all tensors, one after the other.
inline std::string bytes_here(const std::vector<CheckpointTensor>& tensors) {
  std::string all;
  for (const CheckpointTensor& each : tensors) {
    const Tensor& here = each.part ? *each.part : each.tensor;
    if (here.count() == 0) continue;
    all.append(reinterpret_cast<const char*>(here.span.data), here.bytes());
  }
  return all;
}

// A tensor of a file. Its elements are `first`, `first` + 1 ...: whole numbers to 256, which every
// type has.
struct FileTensor {
  std::string name;
  std::vector<int> shape;
  int first = 0;

  int count() const {
    int all = 1;
    for (const int side : shape) all *= side;
    return all;
  }
};

inline std::string element_bytes(const std::string& dtype, int number) {
  const auto value = static_cast<float>(number);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (dtype == "F32") return {reinterpret_cast<const char*>(&bits), 4};
  if (dtype == "BF16") return {reinterpret_cast<const char*>(&bits) + 2, 2};
  int exponent = 0;
  while (number >> (exponent + 1) != 0) ++exponent;
  const auto half =
      static_cast<std::uint16_t>(((exponent + 15) << 10) | ((number << (10 - exponent)) & 1023));
  return {reinterpret_cast<const char*>(&half), 2};
}

// As the library writes it: names in the order of the alphabet, one after the other.
inline std::string library_file(const std::vector<FileTensor>& tensors, const std::string& dtype) {
  std::string header = R"({"__metadata__":{"format":"pt"})", data;
  for (const FileTensor& each : tensors) {
    const std::size_t begin = data.size();
    for (int i = 0; i < each.count(); ++i) data += element_bytes(dtype, each.first + i);
    header += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          each.name, dtype, fmt::join(each.shape, ","), begin, data.size());
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

// One layer, 2 heads of 2 with 1 of k and v, width 3, FFN 2, vocabulary 5.
inline const std::vector<FileTensor>& library_tensors_of_test() {
  static const std::vector<FileTensor> tensors = {
      {"lm_head.weight", {5, 3}, 1},
      {"model.embed_tokens.weight", {5, 3}, 16},
      {"model.layers.0.input_layernorm.weight", {3}, 31},
      {"model.layers.0.mlp.down_proj.weight", {3, 2}, 34},
      {"model.layers.0.mlp.gate_proj.weight", {2, 3}, 40},
      {"model.layers.0.mlp.up_proj.weight", {2, 3}, 46},
      {"model.layers.0.post_attention_layernorm.weight", {3}, 52},
      {"model.layers.0.self_attn.k_norm.weight", {2}, 55},
      {"model.layers.0.self_attn.k_proj.weight", {2, 3}, 57},
      {"model.layers.0.self_attn.o_proj.weight", {3, 4}, 63},
      {"model.layers.0.self_attn.q_norm.weight", {2}, 75},
      {"model.layers.0.self_attn.q_proj.weight", {4, 3}, 77},
      {"model.layers.0.self_attn.v_proj.weight", {2, 3}, 89},
      {"model.norm.weight", {3}, 95}};
  return tensors;
}

// Where each of Duet's parameters begins in them, one after the other.
inline const std::map<std::string, std::vector<std::pair<int, int>>>& expected_elements() {
  static const std::map<std::string, std::vector<std::pair<int, int>>> expected = {
      {"head.weight", {{1, 15}}},
      {"token_table", {{16, 15}}},
      {"block.0.norm_1.weight", {{31, 3}}},
      {"block.0.qkv.weight", {{77, 12}, {57, 6}, {89, 6}}},
      {"block.0.q_norm.weight", {{75, 2}}},
      {"block.0.k_norm.weight", {{55, 2}}},
      {"block.0.attention_out.weight", {{63, 12}}},
      {"block.0.norm_2.weight", {{52, 3}}},
      {"block.0.ffn_in.weight", {{40, 6}, {46, 6}}},
      {"block.0.ffn_out.weight", {{34, 6}}},
      {"norm.weight", {{95, 3}}}};
  return expected;
}

inline constexpr const char* kLibraryConfig = R"({
  "architectures": ["Qwen3ForCausalLM"],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 151643,
  "eos_token_id": 151645,
  "head_dim": 2,
  "hidden_act": "silu",
  "hidden_size": 3,
  "initializer_range": 0.02,
  "intermediate_size": 2,
  "max_position_embeddings": 40960,
  "max_window_layers": 1,
  "model_type": "qwen3",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "rms_norm_eps": 1e-06,
  "rope_scaling": null,
  "rope_theta": 1000000,
  "sliding_window": null,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.51.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 5
}
)";

// With two experts of width 2, of which a token chooses one.
inline constexpr const char* kLibraryMoeConfig = R"({
  "architectures": ["Qwen3MoeForCausalLM"],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "decoder_sparse_step": 1,
  "head_dim": 2,
  "hidden_act": "silu",
  "hidden_size": 3,
  "initializer_range": 0.02,
  "intermediate_size": 2,
  "max_position_embeddings": 40960,
  "max_window_layers": 1,
  "mlp_only_layers": [],
  "model_type": "qwen3_moe",
  "moe_intermediate_size": 2,
  "norm_topk_prob": true,
  "num_attention_heads": 2,
  "num_experts": 2,
  "num_experts_per_tok": 1,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "output_router_logits": false,
  "rms_norm_eps": 1e-06,
  "rope_scaling": null,
  "rope_theta": 1000000,
  "router_aux_loss_coef": 0.001,
  "sliding_window": null,
  "tie_word_embeddings": false,
  "torch_dtype": "float32",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 5
}
)";

inline std::string replaced(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), now);
}

class Qwen3FolderTest : public ::testing::Test {
 protected:
  Qwen3FolderTest()
      : folder_(::testing::TempDir() + "duet-qwen3-folder-" + std::to_string(getpid())),
        machine_(open_machine("host")) {
    std::filesystem::create_directory(folder_);
  }
  ~Qwen3FolderTest() override { std::filesystem::remove_all(folder_); }

  Device& device() { return machine_->device(0); }

  std::string text(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::remove(folder_ + "/" + name);
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& each : std::filesystem::directory_iterator(folder_)) {
      all.insert(each.path().filename().string());
    }
    return all;
  }
  std::map<std::string, std::string> texts() const {
    std::map<std::string, std::string> all;
    for (const std::string& name : names()) all[name] = text(name);
    return all;
  }

  // Of the model of kLibraryConfig, without contents.
  std::vector<CheckpointTensor> library_memory(DType dtype) {
    return memory_of(qwen3_from_json("", kLibraryConfig), dtype);
  }
  std::vector<CheckpointTensor> memory_of(const Qwen3Config& config, DType dtype) {
    std::vector<CheckpointTensor> all;
    for (const ModelParameter& about : parameters(config)) {
      Tensor tensor{{}, about.rows, about.columns, dtype};
      buffers_.push_back(device().allocate(tensor.bytes()));
      tensor.span = buffers_.back().span();
      std::memset(tensor.span.data, 0, tensor.span.bytes);
      all.push_back({about.name, tensor});
    }
    return all;
  }
  static void expect_library_values(const std::vector<CheckpointTensor>& tensors) {
    for (const CheckpointTensor& each : tensors) {
      const DType dtype = each.tensor.dtype;
      const std::byte* at = each.tensor.span.data;
      std::size_t seen = 0;
      for (const auto& [first, count] : expected_elements().at(each.name)) {
        for (int i = 0; i < count; ++i, at += size_of(dtype), ++seen) {
          ASSERT_EQ(load(dtype, at), static_cast<float>(first + i)) << each.name << " " << seen;
        }
      }
      EXPECT_EQ(seen, each.tensor.count()) << each.name;
    }
  }
  void load_library(const std::vector<CheckpointTensor>& tensors) const {
    load_qwen3_folder(folder_, qwen3_from_json("", kLibraryConfig), tensors);
  }

  // The message of the UsageError without the folder; "" if there was none.
  std::string refusal(const std::function<void()>& call) const {
    try {
      call();
      return "";
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(folder_ + "/"), 0u) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      return message.substr(std::min(message.size(), folder_.size() + 1));
    }
  }
  std::string refusal_of_config(const std::string& config, bool of_experts = false) const {
    write("config.json", config);
    return refusal([&] { read_qwen3_folder(folder_, of_experts); });
  }
  // With nothing written.
  std::string refusal_to_load() {
    const std::vector<CheckpointTensor> tensors = library_memory(DType::fp32);
    const std::string before = bytes_here(tensors);
    const std::string message = refusal([&] { load_library(tensors); });
    EXPECT_EQ(bytes_here(tensors) == before, !message.empty());
    return message;
  }

  // As the library divides them: what stands before `split` in one file, the others in another.
  void write_library_shards(std::size_t split, const std::string& dtype) const {
    const std::vector<FileTensor>& all = library_tensors_of_test();
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(split);
    const std::vector<FileTensor> halves[] = {{all.begin(), at}, {at, all.end()}};
    std::string map;
    for (int i = 0; i < 2; ++i) {
      const std::string file = fmt::format("model-0000{}-of-00002.safetensors", i + 1);
      write(file, library_file(halves[i], dtype));
      for (const FileTensor& each : halves[i]) {
        map += fmt::format("{}\n    \"{}\": \"{}\"", map.empty() ? "" : ",", each.name, file);
      }
    }
    write("model.safetensors.index.json",
          "{\n  \"metadata\": {\n    \"total_size\": 388\n  },\n  \"weight_map\": {" + map +
              "\n  }\n}\n");
  }

  std::string folder_;
  std::unique_ptr<Machine> machine_;
  std::vector<Buffer> buffers_;
};

}  // namespace duet
