// Creation of communicators beside the real NCCL's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/nccl/abi.h"
#include "nccl_shim/open_device.h"
#include "nccl_shim/protocol/creation.h"

namespace duet::nccl_shim {

// A communicator that the real NCCL is about to create, or has created just now, and that may be
// entered. `handle` is where NCCL puts the handle.
struct PendingCreation {
  nccl::Comm* handle;
  std::string name;
  std::unique_ptr<ShimDevice> device;
  std::unique_ptr<Creation> creation;
  bool all_come = false;  // all ranks are known to announce themselves
};

// Null, with a line in the log, if it is to be forwarded.
std::unique_ptr<PendingCreation> announce(nccl::Comm* handle, const std::string& name, int rank,
                                          int ranks, std::unique_ptr<ShimDevice> device);
// As announce(), on the current device; null also where settings or the configuration forbid it.
std::unique_ptr<PendingCreation> announce_init(nccl::Comm* handle, const nccl::UniqueId* ids,
                                               int count, int rank, int ranks,
                                               const nccl::Config* config);

// After the real creation: enters those that all ranks agree on. The result for the caller of NCCL.
nccl::Result enter_all(std::vector<std::unique_ptr<PendingCreation>> pending);

// Whether `config`, which may be null, asks for what can be taken over.
bool is_blocking(const nccl::Config* config);

}  // namespace duet::nccl_shim
