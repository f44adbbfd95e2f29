// config.json of the transformers library: what is read, and what is refused.
#include "training/models/qwen3_json.h"

#include <filesystem>

#include "training/models/qwen3_folder_fixture.h"

namespace duet {
namespace {

class Qwen3JsonTest : public Qwen3FolderTest {};

TEST_F(Qwen3JsonTest, OfTheLibraryHasItsSizes) {
  write("config.json", kLibraryConfig);
  const Qwen3Config config = read_qwen3_folder(folder_ + "/");
  EXPECT_EQ(config.name, std::filesystem::path(folder_).filename().string());
  EXPECT_EQ(config.layers, 1);
  EXPECT_EQ(config.heads, 2);
  EXPECT_EQ(config.kv_heads, 1);
  EXPECT_EQ(config.head_width, 2);
  EXPECT_EQ(config.width, 3);
  EXPECT_EQ(config.ffn_width, 2);
  EXPECT_EQ(config.vocabulary, 5);
  EXPECT_EQ(config.batch, 1);
  EXPECT_EQ(config.sequence, 8192);
  EXPECT_EQ(config.positions, 40960);
  EXPECT_EQ(config.recompute, Recompute::none);
}

TEST_F(Qwen3JsonTest, MayHaveOtherFormsOfTheSameConfig) {
  const auto with = [&](const std::string& old, const std::string& now) {
    return refusal_of_config(replaced(kLibraryConfig, old, now));
  };
  const std::string theta = "\"rope_theta\": 1000000,";
  EXPECT_EQ(with(theta, "\"rope_parameters\": {\"rope_theta\": 1e6, \"rope_type\": \"default\"},"),
            "");
  EXPECT_EQ(with("\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"default\"}"), "");
  EXPECT_EQ(with("\"model_type\": \"qwen3\",", ""), "");
  EXPECT_EQ(with("\"hidden_act\": \"silu\",", "\"layer_types\": [\"full_attention\"],"), "");
  EXPECT_EQ(with("\"use_cache\": true,", "\"more\": [{\"a\": [1, -2.5]}],"), "");
  write("config.json", replaced(kLibraryConfig, "40960", "64"));
  EXPECT_EQ(read_qwen3_folder(folder_).sequence, 64);
}

TEST_F(Qwen3JsonTest, OfExpertsHasItsSizes) {
  write("config.json", kLibraryMoeConfig);
  Qwen3Config config = read_qwen3_folder(folder_, true);
  EXPECT_EQ(config.experts, 2);
  EXPECT_EQ(config.chosen, 1);
  EXPECT_EQ(config.ffn_width, 2);
  // As Qwen3MoeConfig of the library has them.
  write("config.json", R"({"model_type": "qwen3_moe", "rope_theta": 1e6, "norm_topk_prob": true})");
  config = read_qwen3_folder(folder_, true);
  EXPECT_EQ(config.experts, 128);
  EXPECT_EQ(config.chosen, 8);
  EXPECT_EQ(config.ffn_width, 768);
  EXPECT_EQ(config.width, 2048);
  EXPECT_EQ(config.layers, 24);
  EXPECT_EQ(config.heads, 32);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_width, 64);  // the width over the heads
}

TEST_F(Qwen3JsonTest, OfExpertsIsRefusedWhereItComputesSomethingElse) {
  const auto with = [&](const std::string& old, const std::string& now) {
    return refusal_of_config(replaced(kLibraryMoeConfig, old, now), true);
  };
  EXPECT_EQ(with("\"num_experts\"", "\"num_local_experts\""), "");
  EXPECT_EQ(with("\"norm_topk_prob\": true", "\"norm_topk_prob\": false"),
            "config.json: norm_topk_prob is false: expected true");
  EXPECT_EQ(with("\"norm_topk_prob\": true,", ""),
            "config.json: norm_topk_prob is missing: expected true");
  EXPECT_EQ(with("\"output_router_logits\": false", "\"output_router_logits\": true"),
            "config.json: output_router_logits is true: expected false");
  EXPECT_EQ(with("\"decoder_sparse_step\": 1", "\"decoder_sparse_step\": 2"),
            "config.json: decoder_sparse_step is 2: expected 1");
  EXPECT_EQ(with("\"mlp_only_layers\": []", "\"mlp_only_layers\": [0]"),
            "config.json: mlp_only_layers is [0]: expected []");
  EXPECT_EQ(with("\"num_experts_per_tok\": 1", "\"num_experts_per_tok\": 3"),
            "config.json: num_experts_per_tok is 3: expected a whole number from 1 to 2");
  EXPECT_EQ(refusal_of_config(kLibraryMoeConfig),
            "config.json: model_type is \"qwen3_moe\": expected \"qwen3\"");
  EXPECT_EQ(refusal_of_config(kLibraryConfig, true),
            "config.json: model_type is \"qwen3\": expected \"qwen3_moe\"");
}

// As Qwen3Config of the library has them.
TEST_F(Qwen3JsonTest, WhatIsMissingHasTheLibrarysDefault) {
  write("config.json", R"({"model_type": "qwen3", "rope_theta": 1e6})");
  const Qwen3Config config = read_qwen3_folder(folder_);
  EXPECT_EQ(config.vocabulary, 151936);
  EXPECT_EQ(config.width, 4096);
  EXPECT_EQ(config.ffn_width, 22016);
  EXPECT_EQ(config.layers, 32);
  EXPECT_EQ(config.heads, 32);
  EXPECT_EQ(config.kv_heads, 32);
  EXPECT_EQ(config.head_width, 128);
  EXPECT_EQ(config.positions, 32768);
  // Of other heads too: it is no quotient.
  write("config.json", replaced(kLibraryConfig, "\"head_dim\": 2,", ""));
  EXPECT_EQ(read_qwen3_folder(folder_).head_width, 128);
  write("config.json",
        replaced(kLibraryConfig, "\"num_key_value_heads\": 1", "\"num_key_value_heads\": null"));
  EXPECT_EQ(read_qwen3_folder(folder_).kv_heads, 2);
  EXPECT_EQ(refusal_of_config(replaced(kLibraryConfig, "\"num_attention_heads\": 2,", "")), "");
  EXPECT_EQ(refusal_of_config(replaced(kLibraryConfig, "\"num_key_value_heads\": 1,", "")),
            "config.json: num_key_value_heads is missing: expected a divisor of the 2 heads");
}

TEST_F(Qwen3JsonTest, OfAnotherModelIsRefused) {
  const auto with = [&](const std::string& old, const std::string& now) {
    const std::string message = refusal_of_config(replaced(kLibraryConfig, old, now));
    EXPECT_EQ(message.find("config.json: "), 0u) << message;
    return message.substr(std::min<std::size_t>(message.size(), 13));
  };
  EXPECT_EQ(with("qwen3\"", "qwen2\""), "model_type is \"qwen2\": expected \"qwen3\"");
  EXPECT_EQ(refusal_of_config(replaced(replaced(kLibraryConfig, "\"model_type\": \"qwen3\",", ""),
                                       "Qwen3For", "LlamaFor")),
            "config.json: architectures is [\"LlamaForCausalLM\"]: expected "
            "[\"Qwen3ForCausalLM\"]");
  EXPECT_EQ(with("silu", "gelu"), "hidden_act is \"gelu\": expected \"silu\"");
  EXPECT_EQ(with("\"attention_bias\": false", "\"attention_bias\": true"),
            "attention_bias is true: expected false");
  EXPECT_EQ(with("\"attention_bias\": false", "\"attention_bias\": 0"),
            "attention_bias is 0: expected false");
  EXPECT_EQ(with("dropout\": 0.0", "dropout\": 0.1"), "attention_dropout is 0.1: expected 0");
  EXPECT_EQ(with("embeddings\": false", "embeddings\": true"),
            "tie_word_embeddings is true: expected false");
  EXPECT_EQ(with("use_sliding_window\": false", "use_sliding_window\": true"),
            "use_sliding_window is true: expected false");
  EXPECT_EQ(with("1e-06", "1e-05"), "rms_norm_eps is 1e-05: expected 1e-06");
  EXPECT_EQ(with("\"use_cache\": true", "\"layer_types\": [\"sliding_attention\"]"),
            "layer_types is [\"sliding_attention\"]: expected \"full_attention\" for each layer");
  EXPECT_EQ(with("\"use_cache\": true", "\"quantization_config\": {\"bits\": 4}"),
            "quantization_config is {\"bits\":4}: expected null");
}

TEST_F(Qwen3JsonTest, OfOtherPositionsIsRefused) {
  const auto with = [&](const std::string& old, const std::string& now) {
    return refusal_of_config(replaced(kLibraryConfig, old, now));
  };
  const std::string theta = "\"rope_theta\": 1000000,", scaling = "\"rope_scaling\": null";
  EXPECT_EQ(with("1000000", "5000000"), "config.json: rope_theta is 5000000: expected 1000000.0");
  EXPECT_EQ(with("1000000", "\"1000000\""),
            "config.json: rope_theta is \"1000000\": expected 1000000.0");
  EXPECT_EQ(with(theta, ""), "config.json: rope_theta is missing: expected 1000000.0");
  EXPECT_EQ(with(theta, "\"rope_parameters\": {\"rope_theta\": 1e4},"),
            "config.json: rope_parameters.rope_theta is 10000.0: expected 1000000.0");
  EXPECT_EQ(with(scaling, "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0}"),
            "config.json: rope_scaling.rope_type is \"yarn\": expected \"default\"");
  EXPECT_EQ(with(scaling, "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}"),
            "config.json: rope_scaling.type is \"linear\": expected \"default\"");
  EXPECT_EQ(with(scaling, "\"rope_scaling\": 4"),
            "config.json: rope_scaling is 4: expected an object or null");
}

TEST_F(Qwen3JsonTest, OfSizesOutOfBoundsIsRefused) {
  const auto with = [&](const std::string& key, const std::string& old, const std::string& now) {
    const std::string entry = "\"" + key + "\": ";
    return refusal_of_config(replaced(kLibraryConfig, entry + old, entry + now));
  };
  const std::string layers =
      "config.json: num_hidden_layers is {}: expected a whole number from "
      "1 to 1024";
  for (const char* other : {"0", "1025", "-1", "1.0", "\"1\"", "[1]", "true",
                            "99999999999999999999", "18446744073709551615"}) {
    const std::string shown = std::string(other) == "99999999999999999999" ? "1e+20" : other;
    EXPECT_EQ(with("num_hidden_layers", "1", other), fmt::format(fmt::runtime(layers), shown));
  }
  EXPECT_EQ(with("num_hidden_layers", "1", "null"), fmt::format(fmt::runtime(layers), "null"));
  EXPECT_EQ(with("hidden_size", "3", "131073"),
            "config.json: hidden_size is 131073: expected a whole number from 1 to 131072");
  EXPECT_EQ(with("vocab_size", "5", "1"),
            "config.json: vocab_size is 1: expected a whole number from 2 to 4194304");
  EXPECT_EQ(with("num_key_value_heads", "1", "4"),
            "config.json: num_key_value_heads is 4: expected a divisor of the 2 heads");
  EXPECT_EQ(with("head_dim", "2", "3"), "config.json: head_dim is 3: expected an even number");
  EXPECT_EQ(with("head_dim", "2", "null"),
            "config.json: head_dim is null: expected a whole number from 2 to 131072");
  EXPECT_EQ(with("intermediate_size", "2", "\"" + std::string(100, 'x') + "\\n\""),
            "config.json: intermediate_size is \"" + std::string(59, 'x') +
                "...: expected a whole number from 1 to 131072");
}

TEST_F(Qwen3JsonTest, OfBrokenJsonIsRefused) {
  EXPECT_EQ(refusal([&] { read_qwen3_folder(folder_); }),
            "config.json: cannot be read: No such file or directory: expected config.json of a "
            "Qwen3");
  for (const char* broken : {"", "{", "[]", "7", "{} {}", "{\"a\": 1e400}", "\xef\xbb\xbf{}"}) {
    EXPECT_EQ(refusal_of_config(broken),
              "config.json: is not JSON: expected config.json of a Qwen3");
  }
  EXPECT_EQ(refusal_of_config("{\"a\": 1, \"a\": 2}"),
            "config.json: name 'a': twice: expected each name once");
  EXPECT_EQ(refusal_of_config("{\"a\": " + std::string(1000000, '[')),
            "config.json: nests deeply: expected config.json of a Qwen3");
  write("config.json", "");
  std::filesystem::resize_file(folder_ + "/config.json", 17 << 20);
  EXPECT_EQ(refusal([&] { read_qwen3_folder(folder_); }),
            "config.json: 17825792 bytes: expected config.json of a Qwen3, of at most 16777216");
  std::filesystem::remove(folder_ + "/config.json");
  std::filesystem::create_directory(folder_ + "/config.json");
  EXPECT_EQ(refusal([&] { read_qwen3_folder(folder_); }),
            "config.json: no regular file: expected config.json of a Qwen3");
}

// Whatever the bytes: sizes within their bounds, or one line.
TEST_F(Qwen3JsonTest, OfDamagedConfigIsReadOrRefused) {
  const std::string good = kLibraryConfig;
  for (std::size_t i = 0; i < 8 * good.size(); ++i) {
    std::string bytes = good;
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << i % 8));
    try {
      const Qwen3Config config = qwen3_from_json(folder_ + "/config.json", bytes);
      EXPECT_LE(config.heads, 1024);
      EXPECT_GE(config.head_width, 2);
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace duet
