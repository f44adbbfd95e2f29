#include "halo/nccl/exchange.h"

namespace duet::nccl {

void exchange_rows(const Library& library, Comm comm, const Ring& ring,
                   const HaloRowAddresses& rows, std::size_t points, NativeStream stream) {
  DUET_NCCL_CHECK(library, group_start());
  DUET_NCCL_CHECK(library, recv(rows.lower, points, kFloat32, ring.below, comm, stream));
  DUET_NCCL_CHECK(library, recv(rows.upper, points, kFloat32, ring.above, comm, stream));
  DUET_NCCL_CHECK(library, send(rows.first, points, kFloat32, ring.above, comm, stream));
  DUET_NCCL_CHECK(library, send(rows.last, points, kFloat32, ring.below, comm, stream));
  DUET_NCCL_CHECK(library, group_end());
}

}  // namespace duet::nccl
