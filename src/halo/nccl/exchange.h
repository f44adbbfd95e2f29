#pragma once

#include <cstddef>

#include "collectives/nccl/calls.h"
#include "halo/engine.h"

namespace duet::nccl {

// The addresses of a rank's boundary rows and halo rows of one field.
struct HaloRowAddresses {
  const void *first = nullptr, *last = nullptr;
  void *upper = nullptr, *lower = nullptr;
};

// One group of two receives and two sends. Where both neighbours are one rank, NCCL matches its
// sends and receives in their order: the row that goes up comes first on both sides. Throws Error.
void exchange_rows(const Library& library, Comm comm, const Ring& ring,
                   const HaloRowAddresses& rows, std::size_t points, NativeStream stream);

}  // namespace duet::nccl
