#pragma once

#include <functional>
#include <string>
#include <vector>

#include "copy/transfer_list.h"
#include "device/machine.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

struct TransferListOptions {
  std::vector<TransferList> lists;
  bool alone = false;  // also measure each transfer of a list by itself
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
};

// A case for each list, whose transfers run at once. The machine must outlive the benchmark; `stop`
// is called between batches.
Benchmark transfer_list_benchmark(Machine& machine, const TransferListOptions& options,
                                  const std::function<bool()>& stop);

}  // namespace duet
