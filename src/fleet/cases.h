// Which figure and place a record of a journal is of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/samples.h"
#include "results/record.h"

namespace duet {

// A unit by names, before it has a number.
struct NamedUnit {
  std::string node, unit;
};

struct FleetCase {
  const Record* record = nullptr;
  std::string key;  // of the figure
  std::string model;
  CaseId id;  // without names of devices
  std::vector<NamedUnit> units;
  double value = 0, usual = 0, deviation = 0;  // as FleetSample has them
  std::string time_utc;

  FleetFigure figure() const;
};

// The cases of one run.
class FleetRun {
 public:
  // `node`: the name of the node of process 0. The environment must outlive this object.
  FleetRun(const Environment& environment, std::string node);

  // nullopt if the record has no figure: it was not measured, or follows from others.
  std::optional<FleetCase> case_of(const Record& record) const;

 private:
  struct Owner {
    const MachineFacts* machine = nullptr;
    const DeviceInfo* device = nullptr;  // null: the machine as a whole
  };
  const Owner* owner(const std::string& name) const;
  std::vector<NamedUnit> units_of(const Record& record) const;

  std::vector<std::string> nodes_;  // of the run's processes, each once
  int processes_ = 1;
  std::string time_utc_;
  std::map<std::string, Owner> owners_;  // machines and devices by name
};

// "driver", "library cuBLAS", "variable NCCL_DEBUG", ... and their values.
std::map<std::string, std::string> settings_of(const Environment& environment);

}  // namespace duet
