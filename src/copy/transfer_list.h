// A file of free lists of transfers (docs/measuring.md#copies):
//
//   # two copies at once, by other engines and in other directions
//   [both ways]
//   64M   0       1       dma     push
//   16M   1       0       kernel  pull
//   1G    pinned  0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "copy/transfer.h"
#include "device/machine.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// Transfers that run at the same time, between devices by their numbers in the machine.
struct TransferList {
  std::string name;
  std::vector<Transfer> transfers;
};

// Throws UsageError "FILE:LINE: ..., expected ..." for a line of another form, for a device that a
// machine of `devices` devices does not have, and for a name that is there twice.
std::vector<TransferList> parse_transfer_lists(const std::string& file, std::string_view text,
                                               int devices);

// "64 MiB 0>1 dma push".
std::string text_of(const Transfer& transfer);

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
