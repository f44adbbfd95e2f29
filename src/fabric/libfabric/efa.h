// Queries of the provider efa's extension of libfabric. All return "" for other providers, and
// where the headers do not have the extension.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <string>

#include "fabric/libfabric/check.h"

namespace duet::libfabric {

// Which operations software stands for, so that their figures are not the NIC's.
std::string emulated_by_efa(const fi_info& info, fid_ep* endpoint);

// By which of the machine's interconnects the NIC reaches the memory.
std::string interconnects_of_efa(const fi_info& info, fid_domain* domain, fid_mr* memory);

}  // namespace duet::libfabric
