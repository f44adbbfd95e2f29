#include "collectives/nvshmem/module.h"

#include "halo/nvshmem/engine.h"
#include "halo/nvshmem/library.h"

namespace duet::nvshmem {

void register_nvshmem_halo() {
  for (const Put put : {Put::words, Put::blocks, Put::signals}) {
    register_halo_engine(make_halo_engine(library_halo_calls(), put, "cuda"));
  }
}

}  // namespace duet::nvshmem
