// Of libraries that are built without CUDA, whose toolkit has NVTX.
#include "nccl_shim/ranges.h"

namespace duet::nccl_shim {

CallRange::CallRange(const Counted&, Means, int) {}
CallRange::~CallRange() = default;
GroupEndRange::GroupEndRange(std::uint64_t) {}
GroupEndRange::~GroupEndRange() = default;

}  // namespace duet::nccl_shim
