#include "training/operations/attention.h"

namespace duet {
namespace {

EngineRegistry<AttentionEngine>& attention_registry() {
  static EngineRegistry<AttentionEngine> instance;
  return instance;
}

}  // namespace

void register_attention_engine(std::unique_ptr<AttentionEngine> engine) {
  attention_registry().add(std::move(engine));
}

AttentionEngines attention_engines(const std::string& device_kind) {
  static const std::vector<EngineModule> modules = {{"cudnn", "", {"cuda"}}};
  return attention_registry().find(device_kind, modules, {});
}

}  // namespace duet
