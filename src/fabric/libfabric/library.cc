#include "fabric/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "fabric/libfabric/discovery.h"
#include "fabric/libfabric/rail.h"
#include "fabric/rail_set.h"

namespace duet::libfabric {
namespace {

std::string expected_providers() {
  const std::vector<std::string> usable = usable_providers();
  if (!usable.empty()) return fmt::format("one of {}", fmt::join(usable, ", "));
  const char* only = std::getenv("FI_PROVIDER");
  if (only == nullptr) return "a machine on which libfabric has one of Duet's providers";
  return fmt::format("a provider that is here; FI_PROVIDER={} hides all others: unset it", only);
}

class Library : public FabricLibrary {
 public:
  std::string name() const override {
    return fmt::format("libfabric {}.{}", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
  }

  std::vector<std::string> providers() const override { return usable_providers(); }

  std::vector<RailInfo> rails(const std::string& provider) const override {
    std::string why;
    std::vector<RailInfo> list;
    for (const Candidate& each : candidates(provider, false, why)) list.push_back(each.info);
    if (!list.empty()) return list;
    throw UsageError(fmt::format("--provider {}: {} cannot use it here ({}): expected {}", provider,
                                 name(), why, expected_providers()));
  }

  std::unique_ptr<Rail> open(const std::string& provider, const RailInfo& rail,
                             bool gpu_memory) const override {
    std::string why;
    std::vector<Candidate> all = candidates(provider, gpu_memory, why);
    if (all.empty()) {
      throw Unavailable(fmt::format("{}: {} cannot use it here{} ({})", provider, name(),
                                    gpu_memory ? " for memory of GPUs" : "", why));
    }
    const auto chosen = std::find_if(all.begin(), all.end(), [&](const Candidate& each) {
      return each.info.name == rail.name && each.info.address == rail.address;
    });
    if (chosen == all.end()) {
      throw Error(fmt::format("rail {} is not there any more", rail_name(rail)));
    }
    return std::make_unique<EndpointRail>(rail, std::move(chosen->fi));
  }
};

}  // namespace
}  // namespace duet::libfabric

extern "C" void duet_register();

void duet_register() { duet::register_fabric(std::make_unique<duet::libfabric::Library>()); }
