#pragma once

#include <string>

#include "collectives/engine.h"
#include "collectives/nvshmem/pe.h"

namespace duet::nvshmem {

// One rank's part of an all_to_all by the library's own call on a stream. All PEs come to it
// before the first one puts: it writes into their receive buffers.
class AllToAllPlan : public CollectivePlan {
 public:
  AllToAllPlan(const Calls& calls, const Rank& rank, const Collective& collective,
               const CollectiveBuffers& buffers);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  const Calls& calls_;
  Device& device_;
  AllToAllCall call_;
};

}  // namespace duet::nvshmem
