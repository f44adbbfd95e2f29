#include "health/peers.h"

#include <algorithm>

#include "fleet/within_run.h"

namespace duet {

std::vector<Check> peer_checks(const Environment& environment, const std::vector<Record>& records) {
  constexpr const char* kName = "peers";
  std::vector<Check> checks;
  const PeersWithin peers = peers_within(environment, records);
  if (peers.figures == 0) return checks;
  for (const UnlikePeers& one : peers.unlike) {
    const bool likely = one.sureness != Sureness::possible;
    checks.push_back({kName, one.place, likely ? Status::failed : Status::unknown, one.text});
  }
  for (const MachineFacts& machine : environment.machines) {
    for (const DeviceInfo& device : machine.devices) {
      const bool told = std::any_of(checks.begin(), checks.end(), [&](const Check& check) {
        return check.device == device.name;
      });
      if (!told) checks.push_back({kName, device.name, Status::ok, "as fast as its peers"});
    }
  }
  return checks;
}

}  // namespace duet
