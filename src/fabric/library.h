// The libraries that open rails: registered by modules, found by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

class FabricLibrary {
 public:
  virtual ~FabricLibrary() = default;
  virtual std::string name() const = 0;  // "libfabric 1.17"
  // Providers that can be used here, in the order in which they are asked.
  virtual std::vector<std::string> providers() const = 0;
  // The rails that a provider has here, unopened. Throws UsageError naming the providers that can
  // be used, where this one cannot.
  virtual std::vector<RailInfo> rails(const std::string& provider) const = 0;
  // A rail that rails() named. `gpu_memory`: it must be able to reach that. Throws Unavailable with
  // the library's reason.
  virtual std::unique_ptr<Rail> open(const std::string& provider, const RailInfo& rail,
                                     bool gpu_memory) const = 0;
};

void register_fabric(std::unique_ptr<FabricLibrary> library);

// Loads the module; throws Unavailable saying why it cannot be used.
const FabricLibrary& fabric_library();

}  // namespace duet
