// The policy that the advisor names for a pair of works. Public; docs/library.md is its page.
#pragma once

#include <string>
#include <string_view>

#include "overlap/policy.h"

namespace duet {

// The best policy for `ranks` devices of this kind (CommunicatorOptions::device), from the table
// that `duet advise --measure` stored for them; nothing is measured. The works have the form of
// `duet advise`: "gemm:8192x57344x8192:bf16", "all_gather:896M". Only policies that Overlap accepts
// are considered, so none with a partition. All ranks must read the same table.
//
// Throws Unavailable if no table is stored for the device and this number of ranks, UsageError for
// a work or a table that cannot be parsed.
OverlapPolicy advised_policy(const std::string& device, int ranks, std::string_view compute,
                             std::string_view communication);

}  // namespace duet
