// Entry point of the module. Throws Unavailable where the library is missing; `duet info` shows the
// error as the reason why the module is not available.
#include "collectives/nccl/engine.h"
#include "collectives/nccl/vendor.h"

extern "C" void duet_register();

void duet_register() {
  const duet::nccl::Library& library = duet::nccl::library();
  for (const duet::nccl::Mode& mode : duet::nccl::modes()) {
    duet::register_collective_engine(duet::nccl::make_engine(library, mode));
  }
  if (!duet::nccl::kIsRccl) {
    for (const auto means :
         {duet::nccl::DropInMeans::packets_and_copies, duet::nccl::DropInMeans::kernel}) {
      duet::register_collective_engine(duet::nccl::make_drop_in_engine(library, means));
    }
  }
}
