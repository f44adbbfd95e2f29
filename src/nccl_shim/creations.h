// Creation of communicators beside the real NCCL's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/nccl/abi.h"
#include "nccl_shim/open_device.h"
#include "nccl_shim/protocol/creation.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {

// A communicator that the real NCCL is about to create, or has created just now, and that may be
// entered. `handle` is where NCCL puts the handle.
struct PendingCreation {
  nccl::Comm* handle;
  std::string name;
  std::unique_ptr<ShimDevice> device;
  std::unique_ptr<Creation> creation;
  // Of a communicator whose ranks are all known to announce themselves, or to refuse: whether one
  // has refused. Empty: a rank may do neither.
  std::function<bool()> refused;
  bool blocking = true;  // by NCCL's configuration
  Thresholds thresholds;
};

// Null, with a line in the log, if it is to be forwarded.
std::unique_ptr<PendingCreation> announce(nccl::Comm* handle, const std::string& name, int rank,
                                          int ranks, const FoundDevice& device);
// As announce(), on the current device; null also where settings or the configuration forbid it.
std::unique_ptr<PendingCreation> announce_init(nccl::Comm* handle, const nccl::UniqueId* ids,
                                               int count, int rank, int ranks,
                                               const nccl::Config* config);

// As announce_init(), of all ranks of a communicator that this process has made; `device_of` gives
// their devices by CUDA's numbers, or throws Error. Empty where one cannot be announced.
std::vector<std::unique_ptr<PendingCreation>> announce_all(
    nccl::Comm* handles, int ranks, const std::function<int(nccl::Comm)>& device_of);

// After the real creation: enters those that all ranks agree on. The result for the caller of NCCL.
nccl::Result enter_all(const std::vector<std::unique_ptr<PendingCreation>>& pending);

// Why a communicator that comes of others, or of no unique id, is to be forwarded, by its
// configuration, which may be null; or "".
std::string why_forwarded(const nccl::Config* config);

}  // namespace duet::nccl_shim
