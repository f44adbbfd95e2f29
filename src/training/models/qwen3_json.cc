#include "training/models/qwen3_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/names.h"
#include "core/plain_text.h"
#include "training/files/guarded_json.h"
#include "training/models/find_config.h"
#include "training/operations/norm_eps.h"
#include "training/operations/operations.h"

namespace duet {
namespace {

using nlohmann::json;

constexpr ExpectedJson kConfigJson{"config.json of a Qwen3", "is not JSON", "name",
                                   "config.json of a Qwen3", 8};
// Of the library: without experts and with them.
struct LibraryModel {
  const char *type, *architecture;
};
constexpr LibraryModel kPlain{"qwen3", "Qwen3ForCausalLM"},
    kOfExperts{"qwen3_moe", "Qwen3MoeForCausalLM"};
// The share of the router's loss in the whole one, which the library adds where
// output_router_logits is true.
constexpr double kRouterLoss = 0.001;
constexpr std::size_t kShownCharacters = 60;  // of a value in a message

constexpr NamedValue<DType> kLibraryTypes[] = {
    {DType::fp32, "float32"}, {DType::bf16, "bfloat16"}, {DType::fp16, "float16"}};

std::string shown_value(const json* value) {
  if (value == nullptr) return "missing";
  const std::string text = one_line(value->dump());
  if (text.size() <= kShownCharacters) return text;
  const std::string begin = text.substr(0, kShownCharacters);
  return begin.substr(0, begin.size() - unfinished_bytes(begin)) + "...";
}

// An object of a config.json. `prefix` is its own name ("rope_scaling.") or empty.
class ConfigObject {
 public:
  ConfigObject(std::string file, std::string prefix, const json& object)
      : file_(std::move(file)), prefix_(std::move(prefix)), object_(object) {}

  // nullptr: it is missing.
  const json* at(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  // nullptr: it is missing, or null.
  const json* find(const char* key) const {
    const json* found = at(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  // `missing`: the library's default.
  std::int64_t count(const char* key, std::int64_t least, std::int64_t most,
                     std::int64_t missing) const {
    const json* value = at(key);
    if (value == nullptr) return missing;
    const bool is_count = value->is_number_unsigned();
    const std::uint64_t found = is_count ? value->get<std::uint64_t>() : 0;
    if (is_count && found >= static_cast<std::uint64_t>(least) &&
        found <= static_cast<std::uint64_t>(most)) {
      return static_cast<std::int64_t>(found);
    }
    fail(key, fmt::format("a whole number from {} to {}", least, most));
  }

  // That the value is `expected`, or missing if the library then takes it to be that.
  enum class Missing { refused, taken };
  void require(const char* key, const json& expected, Missing missing) const {
    const json* value = find(key);
    if (value == nullptr ? missing == Missing::taken : *value == expected) return;
    fail(key, expected.dump());
  }
  void require_missing(const char* key) const {
    if (find(key) != nullptr) fail(key, "null");
  }

  [[noreturn]] void fail(const char* key, const std::string& expected) const {
    refuse(file_, fmt::format("{}{} is {}", prefix_, key, shown_value(at(key))), expected);
  }

 private:
  std::string file_, prefix_;
  const json& object_;
};

using Missing = ConfigObject::Missing;

void require_architecture(const ConfigObject& config, const LibraryModel& model) {
  if (config.find("model_type") != nullptr) {
    config.require("model_type", model.type, Missing::refused);
  } else {
    config.require("architectures", json::array({model.architecture}), Missing::refused);
  }
  config.require("hidden_act", "silu", Missing::taken);
  config.require("attention_bias", false, Missing::taken);
  config.require("attention_dropout", 0, Missing::taken);
  config.require("tie_word_embeddings", false, Missing::taken);
  config.require("use_sliding_window", false, Missing::taken);
  config.require("rms_norm_eps", kRmsNormEps, Missing::taken);
  config.require_missing("quantization_config");
  const json* types = config.find("layer_types");
  const auto is_full = [](const json& type) { return type == "full_attention"; };
  if (types != nullptr &&
      (!types->is_array() || !std::all_of(types->begin(), types->end(), is_full))) {
    config.fail("layer_types", "\"full_attention\" for each layer");
  }
}

// Experts in every layer, whose weights of a token add up to 1.
void require_experts(const ConfigObject& config) {
  config.require("decoder_sparse_step", 1, Missing::taken);
  config.require("mlp_only_layers", json::array(), Missing::taken);
  config.require("norm_topk_prob", true, Missing::refused);
  config.require("output_router_logits", false, Missing::taken);
}

// Since release 5 the library keeps the base beside the kind of positions, before as a key of the
// config itself.
void require_positions(const std::string& file, const ConfigObject& config) {
  const json theta = RotaryTensors{}.theta;
  bool stated = config.find("rope_theta") != nullptr;
  if (stated) config.require("rope_theta", theta, Missing::refused);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const json* found = config.find(key);
    if (found == nullptr) continue;
    if (!found->is_object()) config.fail(key, "an object or null");
    const ConfigObject positions(file, std::string(key) + ".", *found);
    positions.require("rope_type", "default", Missing::taken);
    positions.require("type", "default", Missing::taken);
    if (positions.find("rope_theta") == nullptr) continue;
    positions.require("rope_theta", theta, Missing::refused);
    stated = true;
  }
  if (!stated) config.fail("rope_theta", theta.dump());
}

void read_experts(const ConfigObject& object, Qwen3Config& config) {
  config.ffn_width = object.count("moe_intermediate_size", 1, kWidest, 768);
  const char* const experts =  // the library's two names of it
      object.at("num_local_experts") != nullptr ? "num_local_experts" : "num_experts";
  config.experts = object.count(experts, 1, kMostExperts, 128);
  config.chosen =
      object.count("num_experts_per_tok", 1, std::min(kMostChosenExperts, config.experts), 8);
}

}  // namespace

Qwen3Config qwen3_from_json(const std::string& file, const std::string& text, bool of_experts) {
  const json parsed = parse_guarded_json(file, text, kConfigJson);
  const ConfigObject object(file, "", parsed);
  require_architecture(object, of_experts ? kOfExperts : kPlain);
  if (of_experts) require_experts(object);
  require_positions(file, object);
  Qwen3Config config;
  config.layers = object.count("num_hidden_layers", 1, kMostLayers, of_experts ? 24 : 32);
  config.heads = object.count("num_attention_heads", 1, kMostHeads, 32);
  const json* kv_heads = object.at("num_key_value_heads");
  config.kv_heads = kv_heads != nullptr && kv_heads->is_null()  // the library's older form
                        ? config.heads
                        : object.count("num_key_value_heads", 1, kMostHeads, of_experts ? 4 : 32);
  config.width = object.count("hidden_size", 1, kWidest, of_experts ? 2048 : 4096);
  if (of_experts) {
    read_experts(object, config);
  } else {
    config.ffn_width = object.count("intermediate_size", 1, kWidest, 22016);
  }
  config.vocabulary = object.count("vocab_size", 2, kMostTokens, 151936);
  config.positions = object.count("max_position_embeddings", 1, kMostTokens, 32768);
  config.head_width =
      object.count("head_dim", 2, kWidest, of_experts ? config.width / config.heads : 128);
  if (config.heads % config.kv_heads != 0) {
    object.fail("num_key_value_heads", fmt::format("a divisor of the {} heads", config.heads));
  }
  if (config.head_width % 2 != 0) object.fail("head_dim", "an even number");
  config.batch = 1;
  config.sequence = std::min(config.positions, kMostReadSequence);
  return config;
}

std::string qwen3_to_json(const Qwen3Config& config, DType dtype) {
  const bool of_experts = config.experts > 0;
  const LibraryModel& model = of_experts ? kOfExperts : kPlain;
  nlohmann::ordered_json object = {
      {"architectures", nlohmann::ordered_json::array({model.architecture})},
      {"attention_bias", false},
      {"attention_dropout", 0.0},
      {"head_dim", config.head_width},
      {"hidden_act", "silu"},
      {"hidden_size", config.width},
      {"initializer_range", kQwen3Deviation},
      {"intermediate_size", config.ffn_width},
      {"max_position_embeddings", std::max(config.positions, config.sequence)},
      {"max_window_layers", config.layers},
      {"model_type", model.type},
      {"num_attention_heads", config.heads},
      {"num_hidden_layers", config.layers},
      {"num_key_value_heads", config.kv_heads},
      {"rms_norm_eps", kRmsNormEps},
      {"rope_scaling", nullptr},
      {"rope_theta", RotaryTensors{}.theta},
      {"sliding_window", nullptr},
      {"tie_word_embeddings", false},
      {"torch_dtype", name_of(kLibraryTypes, dtype)},
      {"use_cache", true},
      {"use_sliding_window", false},
      {"vocab_size", config.vocabulary}};
  if (of_experts) {
    // Of layers without experts, which there are not: as many as a token's experts have.
    object["intermediate_size"] = config.chosen * config.ffn_width;
    object["decoder_sparse_step"] = 1;
    object["mlp_only_layers"] = nlohmann::ordered_json::array();
    object["moe_intermediate_size"] = config.ffn_width;
    object["norm_topk_prob"] = true;
    object["num_experts"] = config.experts;
    object["num_experts_per_tok"] = config.chosen;
    object["output_router_logits"] = false;
    object["router_aux_loss_coef"] = kRouterLoss;
  }
  return object.dump(2) + "\n";
}

}  // namespace duet
