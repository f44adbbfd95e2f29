#pragma once

namespace duet::mpi {

// Registers what other workloads have of MPI when the module is loaded. The symbol is weak: a
// module that is built without them leaves it undefined and still loads.
__attribute__((weak)) void register_mpi_halo();

}  // namespace duet::mpi
