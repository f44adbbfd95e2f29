// libfabric as Duet's fabric library, registered when the module is loaded.
#include "fabric/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "fabric/libfabric/discovery.h"
#include "fabric/libfabric/rail.h"

namespace duet::libfabric {
namespace {

class Library : public FabricLibrary {
 public:
  std::string name() const override {
    return fmt::format("libfabric {}.{}", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
  }

  std::vector<std::string> providers() const override { return usable_providers(); }

  std::vector<RailInfo> rails(const std::string& provider, bool gpu_memory) const override {
    std::vector<RailInfo> list;
    for (const Candidate& each : found(provider, gpu_memory)) list.push_back(each.info);
    return list;
  }

  std::unique_ptr<Rail> open(const std::string& provider, const RailInfo& rail,
                             bool gpu_memory) const override {
    std::vector<Candidate> all = found(provider, gpu_memory);
    const auto chosen = std::find_if(all.begin(), all.end(), [&](const Candidate& each) {
      return each.info.name == rail.name && each.info.address == rail.address;
    });
    if (chosen == all.end()) {
      throw Unavailable(fmt::format("{} ({}) is not there any more", rail.name, rail.address));
    }
    return std::make_unique<EndpointRail>(rail, std::move(chosen->fi));
  }

 private:
  std::vector<Candidate> found(const std::string& provider, bool gpu_memory) const {
    std::string why;
    std::vector<Candidate> all = candidates(provider, gpu_memory, why);
    if (all.empty()) {
      throw UsageError(fmt::format(
          "--provider {}: {} cannot use it here{} ({}): expected one of {}", provider, name(),
          gpu_memory ? " for memory of GPUs" : "", why, fmt::join(usable_providers(), ", ")));
    }
    return all;
  }
};

}  // namespace
}  // namespace duet::libfabric

extern "C" void duet_register();

void duet_register() { duet::register_fabric(std::make_unique<duet::libfabric::Library>()); }
