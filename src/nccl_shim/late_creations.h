// Creation of nonblocking communicators: behind the real NCCL's, by a thread for each, so that no
// program waits for another's.
#pragma once

#include <memory>
#include <vector>

#include "collectives/nccl/abi.h"
#include "nccl_shim/creations.h"

namespace duet::nccl_shim {

// Behind the real creation with the result `real`: as enter_all() for what is blocking, and by
// threads for the rest. The result for the caller of NCCL.
nccl::Result enter_created(std::vector<std::unique_ptr<PendingCreation>> pending,
                           nccl::Result real);

// Of a nonblocking communicator: until it is entered, or known to be forwarded by all ranks.
bool is_created_late(nccl::Comm handle);
// For its use until then, which NCCL does not allow either: a line, and a failure.
nccl::Result refuse_early();

// The real ncclCommGetAsyncError, by one thread at a time.
nccl::Result ask_own_state(nccl::Comm handle, nccl::Result* state);
// As ncclCommGetAsyncError: also ncclInProgress while is_created_late(), and the error of what
// failed then.
nccl::Result ask_state(nccl::Comm handle, nccl::Result* state);

// Before a communicator ends: gives its creation up if that still goes on. When it returns nothing
// here uses the handle, unless it is entered.
void end_late(nccl::Comm handle);

}  // namespace duet::nccl_shim
