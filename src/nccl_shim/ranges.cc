#include "nccl_shim/ranges.h"

#include "core/nvtx.h"

namespace duet::nccl_shim {
namespace {

constexpr std::size_t kGroupEnd = kCountedKinds;  // behind the kinds of calls

nvtx::Name registered_name(std::size_t what) {
  struct Names {
    nvtx::Name all[kCountedKinds + 1];
    Names() {
      for (std::size_t i = 0; i < kCountedKinds; ++i) {
        all[i] = nvtx::registered(name_of(static_cast<CountedKind>(i)));
      }
      all[kGroupEnd] = nvtx::registered("group_end");
    }
  };
  static const Names names;
  return names.all[what];
}

void pop() {
  if (nvtx::has_tool()) nvtx::pop();
}

}  // namespace

CallRange::CallRange(const Counted& call, int ranks) {
  if (!nvtx::has_tool()) return;
  nvtx::push(registered_name(static_cast<std::size_t>(call.kind)), call.all_bytes(ranks));
}

CallRange::~CallRange() { pop(); }

GroupEndRange::GroupEndRange(std::uint64_t calls) {
  if (nvtx::has_tool()) nvtx::push(registered_name(kGroupEnd), calls);
}

GroupEndRange::~GroupEndRange() { pop(); }

}  // namespace duet::nccl_shim
