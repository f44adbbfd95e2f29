#include "fabric/library.h"

#include <utility>

#include "core/error.h"
#include "core/module.h"
#include "fabric/selection.h"

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

FabricOverview fabric_overview() {
  FabricOverview overview;
  try {
    const FabricLibrary& library = fabric_library();
    overview.library = library.name();
    for (const std::string& name : library.providers()) {
      overview.providers.push_back({name, library.rails(name)});
      describe_rails(overview.providers.back().rails);
    }
  } catch (const Error& error) {
    overview.reason = error.what();
  }
  return overview;
}

}  // namespace duet
