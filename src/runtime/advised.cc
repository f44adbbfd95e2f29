#include "runtime/advised.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/machine.h"
#include "overlap/advisor/advisor.h"
#include "overlap/advisor/probes.h"
#include "overlap/advisor/table_file.h"

namespace duet {

OverlapPolicy advised_policy(const std::string& device, int ranks, std::string_view compute,
                             std::string_view communication) {
  const OverlapScenario pair = parse_scenario(compute, communication);
  const auto machine = open_machine(device);
  const std::string model = machine->device(0).info().model;
  const std::string known = table_device(machine->is_virtual(), machine->name(), model);
  const TableFile file(TableFile::usual_path());
  const DeviceTable* table = file.find(known, ranks);
  if (table == nullptr) {
    throw Unavailable(
        fmt::format("{} has no table of {} x {}: expected one made by duet advise --measure",
                    TableFile::usual_path(), ranks, known));
  }
  const DevicePeaks measured_alone;
  return advise(*table, measured_alone, pair,
                [](const OverlapPolicy& policy) { return !has_partition(policy.kind); })
      .policy;
}

}  // namespace duet
