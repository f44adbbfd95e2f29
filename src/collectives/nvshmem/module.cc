// Entry point of the module. Before NVSHMEM starts, multicast is switched off, which some systems
// do not permit.
#include "collectives/nvshmem/module.h"

#include <cstdlib>

extern "C" void duet_register();

void duet_register() {
  using namespace duet::nvshmem;
  setenv("NVSHMEM_DISABLE_NVLS", "1", /*overwrite=*/1);
  if (register_nvshmem_halo != nullptr) register_nvshmem_halo();
}
