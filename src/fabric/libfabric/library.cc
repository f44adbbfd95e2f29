#include "fabric/library.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.h"
#include "fabric/libfabric/check.h"
#include "fabric/libfabric/rail.h"
#include "fabric/rail.h"
#include "fabric/rail_set.h"

namespace duet::libfabric {
namespace {

struct Candidate {
  RailInfo info;
  Info fi;  // to open it with
};

// What can be asked for by name; any of them may be missing here.
constexpr const char* kProviders[] = {"efa", "verbs;ofi_rxm", "tcp;ofi_rxm", "shm"};

Info hints_for(const std::string& provider, bool gpu_memory) {
  Info hints(fi_allocinfo());
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (gpu_memory) {
    hints->caps |= FI_HMEM;
    hints->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->fabric_attr->prov_name = strdup(provider.c_str());  // fi_freeinfo() frees it
  return hints;
}

// The interface that has the address; "" if none.
std::string interface_of(const in_addr& address) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* each = all; each != nullptr && found.empty(); each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in own{};
    std::memcpy(&own, each->ifa_addr, sizeof own);
    if (own.sin_addr.s_addr == address.s_addr) found = each->ifa_name;
  }
  freeifaddrs(all);
  return found;
}

std::string text_of(const in_addr& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

RailInfo describe(const fi_info& info) {
  RailInfo rail;
  const fid_nic* nic = info.nic;
  if (nic != nullptr && nic->device_attr != nullptr && nic->device_attr->name != nullptr) {
    rail.name = nic->device_attr->name;
  }
  if (nic != nullptr && nic->link_attr != nullptr) {
    rail.gbit_per_s = static_cast<double>(nic->link_attr->speed) / 1e9;
  }
  if (info.addr_format == FI_SOCKADDR_IN && info.src_addr != nullptr) {
    sockaddr_in address{};
    std::memcpy(&address, info.src_addr, sizeof address);
    rail.address = text_of(address.sin_addr);
    rail.name = interface_of(address.sin_addr);
  }
  if (rail.name.empty()) rail.name = info.domain_attr->name;
  return rail;
}

bool same(const RailInfo& one, const RailInfo& other) {
  return one.name == other.name && one.address == other.address;
}

// fi_getinfo(), which when it is first called lets the provider shm take the program's handlers of
// signals; in its own it takes a lock that the interrupted code may hold. They are put back, and a
// signal that comes meanwhile waits.
int get_info(const fi_info& hints, fi_info** list) {
  constexpr int kSignals[] = {SIGINT, SIGTERM};
  struct sigaction handlers[std::size(kSignals)];
  sigset_t ours, before;
  sigemptyset(&ours);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaddset(&ours, kSignals[i]);
    sigaction(kSignals[i], nullptr, &handlers[i]);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  const int result = fi_getinfo(api_version(), nullptr, nullptr, 0, &hints, list);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &handlers[i], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

// A provider's rails, one per NIC or address, in libfabric's order; `gpu_memory`: only those that
// reach GPU memory. Empty where the provider cannot be used here. `why` then has libfabric's
// reason.
std::vector<Candidate> candidates(const std::string& provider, bool gpu_memory, std::string& why) {
  const Info hints = hints_for(provider, gpu_memory);
  fi_info* list = nullptr;
  const int result = get_info(*hints, &list);
  if (result != 0) {
    why = "fi_getinfo: " + error_text(result);
    return {};
  }
  const Info owner(list);
  std::vector<Candidate> found;
  for (const fi_info* each = list; each != nullptr; each = each->next) {
    // Addresses of version 6 are further ways through the same interfaces.
    if (each->addr_format == FI_SOCKADDR_IN6) continue;
    const RailInfo rail = describe(*each);
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Candidate& other) { return same(other.info, rail); });
    if (!known) found.push_back({rail, Info(fi_dupinfo(each))});
  }
  if (found.empty()) why = "it has no interface with an address";
  return found;
}

// Providers whose endpoints have all that Duet's rails need.
std::vector<std::string> usable_providers() {
  std::vector<std::string> usable;
  std::string why;
  for (const char* provider : kProviders) {
    if (!candidates(provider, false, why).empty()) usable.emplace_back(provider);
  }
  return usable;
}

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
