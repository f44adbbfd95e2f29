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

// 0 is no category.
std::uint32_t named_category(Means means) {
  static const bool named = [] {
    for (std::uint32_t i = 1; i < kMeans; ++i) {
      nvtx::name_category(i, name_of(static_cast<Means>(i)));
    }
    return true;
  }();
  return named ? static_cast<std::uint32_t>(means) : 0;
}

void pop() {
  if (nvtx::has_tool()) nvtx::pop();
}

}  // namespace

CallRange::CallRange(const Counted& call, Means means, int ranks) {
  if (!nvtx::has_tool()) return;
  nvtx::push(registered_name(static_cast<std::size_t>(call.kind)), call.all_bytes(ranks),
             named_category(means));
}

CallRange::~CallRange() { pop(); }

GroupEndRange::GroupEndRange(std::uint64_t calls) {
  if (nvtx::has_tool()) nvtx::push(registered_name(kGroupEnd), calls);
}

GroupEndRange::~GroupEndRange() { pop(); }

}  // namespace duet::nccl_shim
