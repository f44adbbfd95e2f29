#include "verdict/peer_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace duet {
namespace {

const std::string& device_name(const Site& site, int place) {
  return site.machine.devices[static_cast<std::size_t>(place)].name;
}

bool all_pairs(const Record& record) { return axis_word(record.id, "pattern") == "all_pairs"; }

bool concerns(const MachineLink& link, const Record& record, const Site& site) {
  return all_pairs(record) || (device_name(site, link.from) == axis_word(record.id, "source") &&
                               device_name(site, link.to) == axis_word(record.id, "destination"));
}

// For a board without a switch, although the usual board of its model has one: the number of links
// between every two devices, because each device's links are divided among its peers. 0 for other
// boards.
int links_without_switch(const LinkSpec& promised, const MachineFacts& machine) {
  const std::vector<MachineLink>& links = machine.links;
  if (promised.mesh || links.empty()) return 0;
  const int count = links.front().link.count;
  const auto same = [count](const MachineLink& one) { return one.link.count == count; };
  const bool divided = count > 0 && count < promised.count &&
                       static_cast<std::size_t>(count) * (machine.devices.size() - 1) <=
                           static_cast<std::size_t>(promised.count);
  return divided && std::all_of(links.begin(), links.end(), same) ? count : 0;
}

// Why there is no bound, if a link is of a kind that the spec does not have, such as a network; ""
// if there is no such link. PCIe does not count: it is reported when the spec's links are down.
template <typename Concerns>
std::string not_promised(const Site& site, Concerns concerns) {
  const std::string promised = site.spec->link ? site.spec->link->kind : "";
  for (const MachineLink& one : site.machine.links) {
    const std::string& kind = one.link.kind;
    const bool linked = kind != "" && kind != "none" && kind != "PCIe";
    if (linked && kind != promised && concerns(one)) {
      return fmt::format("the journal tells of {} links, for which nothing is promised", kind);
    }
  }
  return "";
}

Bound over_host(const Record& record, const Site& site, std::size_t devices) {
  // Each device has its own link to the host. The spec says nothing of the paths between them.
  const bool both = axis_true(record.id, "bidirectional");
  const double ways = all_pairs(record) ? static_cast<double>(devices) : both ? 2 : 1;
  const double rate = ways * site.spec->host_link_gb_per_s;
  return {rate, fmt::format("the {:.4g} GB/s of {}", rate, site.spec->host_link)};
}

}  // namespace

Bound sending_bound(const Site& site, std::size_t peers) {
  if (!site.spec->link) return {0, "nothing is promised between the devices"};
  const std::string unknown = not_promised(site, [](const MachineLink&) { return true; });
  if (!unknown.empty()) return {0, unknown};
  const LinkSpec& link = *site.spec->link;
  const int divided = links_without_switch(link, site.machine);
  const int to_peer = divided > 0 ? divided : link.mesh ? 1 : link.count;
  const bool shared = link.mesh || divided > 0;
  const std::size_t most = std::min(peers, site.machine.devices.size() - 1);
  const int links = to_peer * (shared ? static_cast<int>(most) : 1);
  const double rate = link.gb_per_s / link.count * links;
  return {rate, fmt::format("the {:.4g} GB/s of {} x {}", rate, links, link.kind)};
}

Bound peer_bound(const Record& record, const Site& site) {
  const std::string unknown =
      not_promised(site, [&](const MachineLink& link) { return concerns(link, record, site); });
  if (!unknown.empty()) return {0, unknown};
  const std::size_t devices = site.machine.devices.size();
  if (!site.spec->link) return over_host(record, site, devices);
  const LinkSpec& link = *site.spec->link;
  const int divided = links_without_switch(link, site.machine);
  const int links = divided > 0 ? divided : link.mesh ? 1 : link.count;  // of a pair
  const double pair = link.gb_per_s / link.count * links;
  const bool shared = link.mesh || divided > 0;  // a device's links go to different peers
  const double sent = shared ? pair * static_cast<double>(devices - 1) : link.gb_per_s;
  const bool both = axis_true(record.id, "bidirectional");
  const double rate = all_pairs(record) ? static_cast<double>(devices) * sent
                      : both            ? 2 * pair
                                        : pair;
  const char* scope = all_pairs(record) ? " on all devices" : both ? " both ways" : "";
  const std::string kind = links > 1 ? fmt::format("{} x {}", links, link.kind) : link.kind;
  return {rate, fmt::format("the {:.4g} GB/s of {}{}", rate, kind, scope)};
}

std::string missing_links(const Record& record, const Site& site) {
  if (!site.spec->link || site.spec->link->mesh) return "";
  const int promised = site.spec->link->count;
  if (links_without_switch(*site.spec->link, site.machine) > 0) return "";
  for (const MachineLink& one : site.machine.links) {
    const int count = one.link.count;
    if (!concerns(one, record, site) || count <= 0 || count >= promised) continue;
    return fmt::format("only {} of {} links are up between {} and {}", count, promised,
                       device_name(site, one.from), device_name(site, one.to));
  }
  return "";
}

}  // namespace duet
