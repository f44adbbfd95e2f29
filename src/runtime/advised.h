// The policy that the advisor names for a pair of works. Public; docs/library.md is its page.
#pragma once

#include <string>
#include <string_view>

#include "overlap/policy.h"

namespace duet {

// For `ranks` devices of this kind (CommunicatorOptions::device), by the table that
// `duet advise --measure` stored for them; nothing is measured. The works in the words of
// `duet advise`: "gemm:8192x57344x8192:bf16", "all_gather:896M". Of the policies that Overlap
// takes: none with a partition. All ranks must see the same table.
//
// Throws Unavailable where no table is stored for the device and so many ranks, UsageError for
// words or a table that cannot be understood.
OverlapPolicy advised_policy(const std::string& device, int ranks, std::string_view compute,
                             std::string_view communication);

}  // namespace duet
