#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// A library that opens rails; a module registers it.
class FabricLibrary {
 public:
  virtual ~FabricLibrary() = default;
  virtual std::string name() const = 0;  // "libfabric 1.17"
  // The usable providers.
  virtual std::vector<std::string> providers() const = 0;
  // The rails of a provider on this machine; opens none. Throws UsageError that lists the usable
  // providers if this one is not.
  virtual std::vector<RailInfo> rails(const std::string& provider) const = 0;
  // Opens a rail of rails(). `gpu_memory`: the rail must be able to reach GPU memory. Throws
  // Unavailable with the library's reason.
  virtual std::unique_ptr<Rail> open(const std::string& provider, const RailInfo& rail,
                                     bool gpu_memory) const = 0;
};

// Returns the one that was registered before; null where there was none.
std::unique_ptr<FabricLibrary> register_fabric(std::unique_ptr<FabricLibrary> library);

// Loads the module; throws Unavailable saying why it cannot be used.
const FabricLibrary& fabric_library();

// The fabric of this machine, for `duet info`.
struct FabricOverview {
  std::string library;  // "libfabric 1.17"; "" where there is none
  std::string reason;   // why there is none
  struct Provider {
    std::string name;
    std::vector<RailInfo> rails;
  };
  std::vector<Provider> providers;  // that can be used
};

FabricOverview fabric_overview();

}  // namespace duet
