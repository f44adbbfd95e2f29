#include "device/gpu/vendor_calls.h"
#include "device/hip/smi.h"

namespace duet::hip {
namespace {

constexpr std::uint32_t kXgmi = 4;  // HSA_AMD_LINK_INFO_TYPE_XGMI of hsa_ext_amd.h

}  // namespace

// Reports Infinity Fabric (xGMI) links. The runtime reports neither their number nor their rate;
// they stay unknown where ROCm SMI does not report them.
Link direct_link(const LinkEnd& from, const LinkEnd& to) {
  std::uint32_t type = 0, hops = 0;
  const hipError_t result = hipExtGetLinkTypeAndHopCount(from.ordinal, to.ordinal, &type, &hops);
  forget(result);
  if (result != hipSuccess || type != kXgmi) return {};
  const auto links = smi() != nullptr ? smi()->links(from.bus, to.bus) : std::nullopt;
  if (!links) return {"xGMI", 0, 0, false};
  return {"xGMI", links->count, links->gb_per_s, false};
}

}  // namespace duet::hip
