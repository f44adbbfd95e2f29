#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

#include "device/cuda/nvml.h"
#include "device/gpu/vendor_calls.h"

namespace duet::cuda {
namespace {

// GB/s of one NVLink in one direction, from NVIDIA's data sheets, which count both directions:
//
//   V100         300 GB/s over  6 links
//   A100         600 GB/s over 12 links
//   H100, H200   900 GB/s over 18 links
//   B200        1800 GB/s over 18 links
double link_gb_per_s(int ordinal) {
  int major = 0, minor = 0;
  DUET_GPU_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal));
  DUET_GPU_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal));
  if (minor == 0 && (major == 7 || major == 8 || major == 9)) return 25;
  if (major == 10) return 50;
  return 0;
}

// The links of a GPU. They are cached: they do not change while a process runs, and a query takes
// milliseconds.
const std::vector<NvLinkEnd>& links_of(const std::string& bus) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<NvLinkEnd>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = known.find(bus);
  if (found == known.end()) {
    const Nvml* nvml = Nvml::instance();
    found = known.emplace(bus, nvml ? nvml->active_links(bus) : std::vector<NvLinkEnd>{}).first;
  }
  return found->second;
}

bool ends_at(const NvLinkEnd& end, const std::string& bus) {
  unsigned domain = 0, number = 0, device = 0;
  if (std::sscanf(bus.c_str(), "%x:%x:%x", &domain, &number, &device) != 3) return false;
  return end.domain == static_cast<int>(domain) && end.bus == static_cast<int>(number) &&
         end.device == static_cast<int>(device);
}

// The number of links to a switch. A link whose other end is not a GPU counts as one.
int switch_links(const std::string& bus) {
  const std::vector<NvLinkEnd>& links = links_of(bus);
  return static_cast<int>(
      std::count_if(links.begin(), links.end(), [](const NvLinkEnd& end) { return !end.is_gpu; }));
}

}  // namespace

Link direct_link(const LinkEnd& from, const LinkEnd& to) {
  const std::vector<NvLinkEnd>& links = links_of(from.bus);
  int count = static_cast<int>(std::count_if(
      links.begin(), links.end(), [&](const NvLinkEnd& end) { return ends_at(end, to.bus); }));
  const bool by_switch = count == 0;
  if (by_switch) count = std::min(switch_links(from.bus), switch_links(to.bus));
  if (count == 0) return {};
  const double each = std::min(link_gb_per_s(from.ordinal), link_gb_per_s(to.ordinal));
  return {"NVLink", count, count * each, false, by_switch};
}

}  // namespace duet::cuda
