// Entry point of the module. Before NVSHMEM starts, multicast is switched off, which some systems
// do not permit.
#include <cstdlib>

#include "halo/nvshmem/engine.h"
#include "halo/nvshmem/library.h"

extern "C" void duet_register();

void duet_register() {
  using namespace duet::nvshmem;
  setenv("NVSHMEM_DISABLE_NVLS", "1", /*overwrite=*/1);
  for (const Put put : {Put::words, Put::blocks, Put::signals}) {
    duet::register_halo_engine(make_engine(library_calls(), put, "cuda"));
  }
}
