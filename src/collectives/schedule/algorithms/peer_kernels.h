// A collective by one or two kernels over mapped peers: the fastest way for small sizes.
#pragma once

#include <cstdint>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"

namespace duet {

struct KernelOptions {
  bool in_place = false;  // this rank's buffers
  bool packets = false;   // packet_bytes() is not 0, and all ranks' buffers are aligned for them
  int blocks = 0;         // the same on every rank; 0: by the collective's size
};

// A collective that only moves pushes its parts. One that reduces reads the rank's part of the
// result from all ranks, and an all_reduce pushes it to all. A large broadcast has two kernels: the
// root sends a different part to each of the others, which pass theirs on among themselves, so that
// the root sends everything only once.
RankSchedule peer_kernels(const Collective& collective, int rank, int ranks,
                          const KernelOptions& options);

// The first half of an all_reduce: a kernel of few blocks reduces each rank's part into its receive
// buffer. When it ends, all ranks have read what they needed.
RankSchedule pulled_reduction(const Collective& collective, int rank, int ranks);

}  // namespace duet
