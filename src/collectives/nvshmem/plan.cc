#include "collectives/nvshmem/plan.h"

namespace duet::nvshmem {

AllToAllPlan::AllToAllPlan(const Calls& calls, const Rank& rank, const Collective& collective,
                           const CollectiveBuffers& buffers)
    : calls_(calls), device_(rank.device) {
  call_.send = buffers.send.data;
  call_.recv = buffers.recv.data;
  call_.chunk = collective.count * size_of(collective.dtype);
  call_.pe = rank.index;
  call_.pes = rank.size;
}

void AllToAllPlan::enqueue(Stream& stream) {
  enqueue_call(calls_, device_, stream, "sync_all", [&calls = calls_, pe = call_.pe](void* native) {
    return calls.sync_all(pe, native);
  });
  enqueue_call(
      calls_, device_, stream, "all_to_all",
      [&calls = calls_, call = call_](void* native) { return calls.all_to_all(call, native); });
}

std::string AllToAllPlan::algorithm() const {
  return "NVSHMEM, its call on a stream behind a sync of all, NVLS off";
}

}  // namespace duet::nvshmem
