#include "fabric/library.h"

#include <utility>

#include "core/error.h"
#include "core/module.h"

namespace duet {
namespace {

std::unique_ptr<FabricLibrary>& registered() {
  static std::unique_ptr<FabricLibrary> library;
  return library;
}

}  // namespace

std::unique_ptr<FabricLibrary> register_fabric(std::unique_ptr<FabricLibrary> library) {
  return std::exchange(registered(), std::move(library));
}

const FabricLibrary& fabric_library() {
  const ModuleState& state = load_module("libfabric");
  if (!state.loaded || registered() == nullptr) {
    throw Unavailable("the fabric needs libfabric, whose module is " + state.reason);
  }
  return *registered();
}

}  // namespace duet
