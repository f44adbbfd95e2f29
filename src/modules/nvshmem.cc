// Entry point of the module duet_nvshmem. Before NVSHMEM starts, multicast is switched off, which
// some systems do not permit, and so is NCCL, which NVSHMEM would otherwise take for its calls on
// streams where it finds it.
#include <cstdlib>

#include "collectives/nvshmem/engine.h"
#include "collectives/nvshmem/library.h"
#include "halo/nvshmem/calls.h"
#include "halo/nvshmem/engine.h"

extern "C" void duet_register();

void duet_register() {
  using namespace duet::nvshmem;
  setenv("NVSHMEM_DISABLE_NVLS", "1", /*overwrite=*/1);
  setenv("NVSHMEM_DISABLE_NCCL", "1", /*overwrite=*/0);
  for (const Initiation initiation : {Initiation::stream, Initiation::block, Initiation::grid}) {
    duet::register_collective_engine(make_engine(library_calls(), initiation, "cuda"));
  }
  for (const Put put : {Put::words, Put::blocks, Put::signals}) {
    duet::register_halo_engine(make_halo_engine(library_halo_calls(), put, "cuda"));
  }
}
