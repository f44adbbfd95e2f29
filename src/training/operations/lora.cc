#include "training/operations/lora.h"

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<LoraTarget> kLoraTargets[] = {
    {LoraTarget::q, "q_proj"},      {LoraTarget::k, "k_proj"},       {LoraTarget::v, "v_proj"},
    {LoraTarget::o, "o_proj"},      {LoraTarget::gate, "gate_proj"}, {LoraTarget::up, "up_proj"},
    {LoraTarget::down, "down_proj"}};

}  // namespace

const char* name(LoraTarget target) { return name_of(kLoraTargets, target); }

std::string module_of(LoraTarget target) {
  const bool ffn = target >= LoraTarget::gate;
  return std::string(ffn ? "mlp." : "self_attn.") + name(target);
}

LoraTarget parse_lora_target(std::string_view text) {
  return parse_name(kLoraTargets, "unknown linear", text);
}

std::set<LoraTarget> all_lora_targets() {
  const std::vector<LoraTarget> all = values_in(kLoraTargets);
  return {all.begin(), all.end()};
}

}  // namespace duet
