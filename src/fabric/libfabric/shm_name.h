#pragma once

#include <rdma/fi_endpoint.h>

namespace duet::libfabric {

// Gives an endpoint of the provider shm, before it is enabled, a name that no other has: the name
// is that of a shared-memory file. Reason: the provider's default name is made of the process id,
// and a process that gets the id of a killed one finds its file and cannot open ("Device or
// resource busy"). Also removes files that killed processes have left under such names. Throws
// Error.
void name_shm_endpoint(fid_ep* endpoint);

}  // namespace duet::libfabric
