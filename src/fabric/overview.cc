#include "fabric/overview.h"

#include "core/error.h"
#include "fabric/description.h"
#include "fabric/library.h"

namespace duet {

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
