// The module's entry point. Where the library is missing this throws Unavailable, which is then why
// the module could not be loaded.
#include "collectives/nccl/engine.h"

extern "C" void duet_register();

void duet_register() {
  const duet::nccl::Library& library = duet::nccl::library();
  for (const duet::nccl::Mode& mode : duet::nccl::modes()) {
    duet::register_collective_engine(duet::nccl::make_engine(library, mode));
  }
}
