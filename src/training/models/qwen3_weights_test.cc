// Files with weights as the transformers library writes them: what is read, and what is refused.
#include <cstring>
#include <filesystem>
#include <functional>

#include "training/files/weight_files.h"
#include "training/models/qwen3_folder_fixture.h"

namespace duet {
namespace {

class WeightFilesTest : public Qwen3FolderTest {};

TEST_F(WeightFilesTest, OfTheLibraryIsReadInEveryType) {
  for (const char* stored : {"F32", "BF16", "F16"}) {
    write("model.safetensors", library_file(library_tensors_of_test(), stored));
    for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16}) {
      const std::vector<CheckpointTensor> tensors = library_memory(dtype);
      load_library(tensors);
      expect_library_values(tensors);
    }
  }
  std::vector<CheckpointTensor> both = library_memory(DType::bf16);
  for (const CheckpointTensor& each : library_memory(DType::fp32)) both.push_back(each);
  load_library(both);
  expect_library_values(both);
}

TEST_F(WeightFilesTest, IsRoundedToNearestEven) {
  std::string file = library_file(library_tensors_of_test(), "F32");
  const float ties[] = {1 + 0x1p-8F, 1 + 0x3p-8F, 1 + 0x1.002p-8F, -1 - 0x1p-8F};
  std::memcpy(&file[file.size() - 97 * 4], ties, sizeof ties);  // of lm_head
  write("model.safetensors", file);
  const std::vector<CheckpointTensor> tensors = library_memory(DType::bf16);
  load_library(tensors);
  ASSERT_EQ(tensors.back().name, "head.weight");
  std::uint16_t bits[4];
  std::memcpy(bits, tensors.back().tensor.span.data, sizeof bits);
  EXPECT_EQ(bits[0], 0x3f80);
  EXPECT_EQ(bits[1], 0x3f82);
  EXPECT_EQ(bits[2], 0x3f81);
  EXPECT_EQ(bits[3], 0xbf80);
}

TEST_F(WeightFilesTest, OfTheLibraryIsReadFromShards) {
  for (const std::size_t split : {1, 8, 13}) {
    write_library_shards(split, "BF16");
    const std::vector<CheckpointTensor> tensors = library_memory(DType::fp32);
    load_library(tensors);
    expect_library_values(tensors);
  }
  // As the library, a whole file rather than an index.
  write("model.safetensors", library_file(library_tensors_of_test(), "F16"));
  write("model.safetensors.index.json", "{}");
  EXPECT_EQ(refusal_to_load(), "");
}

TEST_F(WeightFilesTest, OfOtherTensorsIsRefused) {
  EXPECT_EQ(refusal_to_load(),
            "model.safetensors: cannot be read: No such file or directory: expected a safetensors "
            "file");
  const auto with = [&](const std::function<void(std::vector<FileTensor>&)>& change,
                        const std::string& dtype = "BF16") {
    std::vector<FileTensor> tensors = library_tensors_of_test();
    change(tensors);
    write("model.safetensors", library_file(tensors, dtype));
    return refusal_to_load();
  };
  EXPECT_EQ(with([](auto&) {}), "");
  EXPECT_EQ(with([](auto& all) { all.pop_back(); }),
            "model.safetensors: tensor 'model.norm.weight': missing: expected a tensor of this "
            "name");
  EXPECT_EQ(with([](auto& all) {
              all.push_back({"model.bias", {2}, 1});
            }),
            "model.safetensors: tensor 'model.bias': BF16 [2]: expected no tensor of this name");
  EXPECT_EQ(with([](auto& all) {
              all[8].shape = {3, 2};
            }),
            "model.safetensors: tensor 'model.layers.0.self_attn.k_proj.weight': BF16 [3, 2]: "
            "expected F32, BF16 or F16 [2, 3]");
  EXPECT_EQ(with([](auto& all) {
              all.back().shape = {1, 3};
            }),
            "model.safetensors: tensor 'model.norm.weight': BF16 [1, 3]: expected F32, BF16 or F16 "
            "[3]");
  const std::string file = library_file(library_tensors_of_test(), "F32");
  write("model.safetensors", replaced(file, "F32", "I32"));
  EXPECT_EQ(refusal_to_load(),
            "model.safetensors: tensor 'lm_head.weight': I32 [5, 3]: expected F32, BF16 or F16 [5, "
            "3]");
  write("model.safetensors", file.substr(0, file.size() - 1));
  EXPECT_NE(refusal_to_load().find("where the file ends"), std::string::npos);
}

TEST_F(WeightFilesTest, OfShardsThatDoNotFitIsRefused) {
  write_library_shards(8, "F32");
  const std::string index = text("model.safetensors.index.json");
  const std::string first = "model-00001-of-00002.safetensors";
  const auto with = [&](const std::string& old, const std::string& now) {
    write("model.safetensors.index.json", replaced(index, old, now));
    return refusal_to_load();
  };
  const std::string head = "model.safetensors.index.json: tensor 'lm_head.weight': ";
  for (const std::string& other :
       {"../" + first, "/" + first, std::string("a/b.safetensors"), std::string(".."),
        std::string(""), std::string("config.json"), std::string("x..safetensors")}) {
    write("model.safetensors.index.json",
          replaced(index, "lm_head.weight\": \"" + first, "lm_head.weight\": \"" + other));
    EXPECT_EQ(refusal_to_load(),
              head + "in '" + other + "': expected a file NAME.safetensors of the folder");
  }
  EXPECT_EQ(with("lm_head.weight\": \"" + first, "lm_head.weight\": \"a\\u0000.safetensors"),
            head + "in 'a\\u0000.safetensors': expected a file NAME.safetensors of the folder");
  EXPECT_EQ(with(first, "none.safetensors"),
            "none.safetensors: cannot be read: No such file or directory: expected a safetensors "
            "file");
  EXPECT_EQ(with(first, "model-00002-of-00002.safetensors"),
            head + "not in 'model-00002-of-00002.safetensors': expected the file that has it");
  EXPECT_EQ(with("\"lm_head.weight\": \"" + first + "\",", ""),
            first +
                ": tensor 'lm_head.weight': not in the index: expected each tensor in the one "
                "file that the index says");
  EXPECT_EQ(with("lm_head.weight", "lm_head.bias")
                .find("model.safetensors.index.json: tensor 'lm_head.bias': not in '" + first),
            0u);
  for (const char* other : {"[]", "7", "{\"a\": 7}", "{\"a\": null}"}) {
    write("model.safetensors.index.json", fmt::format("{{\"weight_map\": {}}}", other));
    EXPECT_EQ(refusal_to_load(),
              "model.safetensors.index.json: \"weight_map\" missing or wrong: expected file names "
              "by tensor");
  }
  EXPECT_EQ(with("{", "["),
            "model.safetensors.index.json: is not JSON: expected an index of safetensors files");
  EXPECT_EQ(with("\"metadata\": {", "\"metadata\": {\"a\": [],"),
            "model.safetensors.index.json: nests deeply: expected an index");
  write("model.safetensors.index.json", index);
  const std::vector<FileTensor> all = library_tensors_of_test();
  write("model-00002-of-00002.safetensors", library_file(all, "F32"));
  EXPECT_EQ(refusal_to_load(),
            "model-00002-of-00002.safetensors: tensor 'lm_head.weight': also in '" + first +
                "': expected each tensor in the one file that the index says");
}

TEST_F(WeightFilesTest, OfDamagedIndexIsReadOrRefused) {
  write_library_shards(8, "F16");
  const std::string good = text("model.safetensors.index.json");
  for (std::size_t i = 0; i < 8 * good.size(); i += 3) {
    std::string bytes = good;
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << i % 8));
    write("model.safetensors.index.json", bytes);
    refusal_to_load();
    buffers_.clear();
  }
}

}  // namespace
}  // namespace duet
