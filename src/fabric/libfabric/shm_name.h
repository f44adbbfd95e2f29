// What an endpoint of the provider shm is called, which is a file of shared memory.
#pragma once

#include <rdma/fi_endpoint.h>

namespace duet::libfabric {

// Gives the endpoint, which is not enabled yet, a name that no other has. The provider's own is
// made of the process's number, and a process that gets the number of one that was killed finds
// that one's file and cannot open ("Device or resource busy"). Removes what killed processes have
// left under such names. Throws Error.
void name_shm_endpoint(fid_ep* endpoint);

}  // namespace duet::libfabric
