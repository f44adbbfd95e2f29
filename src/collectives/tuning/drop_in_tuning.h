// What the drop-in for NCCL goes by (docs/pytorch.md), of figures beside NCCL by one process and by
// several.
#pragma once

#include <string>
#include <vector>

#include "collectives/tuning/thresholds.h"
#include "core/drop_in_thresholds.h"

namespace duet {

// Where the drop-in is as fast as NCCL in all of `measured`: copies from the largest of the sizes,
// for collectives that some have; packets up to the smallest, if all have it for all of kInPackets;
// the kernel of a collective up to the smallest, if all have it, and if it is as fast from the end
// of packets on. Without names of models. `with_packets`: false leaves small calls to NCCL.
DropInThresholds drop_in_thresholds(const std::vector<BesideNccl>& measured, bool with_packets);

// A row of a file of specs/tuning, as parse_tuning_table() reads it: `dma_from` for every
// collective, of which those that `measured` lacks are said to be as built in.
std::string tuning_row(int ranks, const std::string& source, const Thresholds& dma_from,
                       const Thresholds& measured, const DropInThresholds& beside_nccl);

}  // namespace duet
