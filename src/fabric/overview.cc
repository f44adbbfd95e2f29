// Asking every provider for its rails; see overview.h.
#include "fabric/overview.h"

#include "core/error.h"
#include "fabric/library.h"
#include "fabric/selection.h"

namespace duet {

FabricOverview fabric_overview() {
  FabricOverview overview;
  try {
    const FabricLibrary& library = fabric_library();
    overview.library = library.name();
    for (const std::string& name : library.providers()) {
      overview.providers.push_back({name, library.rails(name, false)});
      for (RailInfo& rail : overview.providers.back().rails) {
        rail.numa_node = numa_node_of(rail.name);
        if (rail.gbit_per_s <= 0) rail.gbit_per_s = interface_gbit_per_s(rail.name);
      }
    }
  } catch (const Error& error) {
    overview.reason = error.what();
  }
  return overview;
}

}  // namespace duet
