#include "nccl_shim/ranges.h"

#include <nvtx3/nvToolsExt.h>

namespace duet::nccl_shim {
namespace {

constexpr std::size_t kGroupEnd = kCountedKinds;  // behind the kinds of calls

// Null where no tool has been loaded into the process. NVTX loads it here.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("Duet");
  return made;
}

// What tools know a name by.
nvtxStringHandle_t registered_name(std::size_t what) {
  struct Names {
    nvtxStringHandle_t all[kCountedKinds + 1];
    Names() {
      for (std::size_t i = 0; i < kCountedKinds; ++i) {
        all[i] = nvtxDomainRegisterStringA(domain(), name_of(static_cast<CountedKind>(i)));
      }
      all[kGroupEnd] = nvtxDomainRegisterStringA(domain(), "group_end");
    }
  };
  static const Names names;
  return names.all[what];
}

// 0 is no category.
std::uint32_t named_category(Means means) {
  static const bool named = [] {
    for (std::uint32_t i = 1; i < kMeans; ++i) {
      nvtxDomainNameCategoryA(domain(), i, name_of(static_cast<Means>(i)));
    }
    return true;
  }();
  return named ? static_cast<std::uint32_t>(means) : 0;
}

void push(std::size_t what, std::uint64_t payload, std::uint32_t category) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = category;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = registered_name(what);
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = payload;
  nvtxDomainRangePushEx(domain(), &event);
}

void pop() {
  if (domain() != nullptr) nvtxDomainRangePop(domain());
}

}  // namespace

CallRange::CallRange(const Counted& call, Means means, int ranks) {
  if (domain() == nullptr) return;
  push(static_cast<std::size_t>(call.kind), call.all_bytes(ranks), named_category(means));
}

CallRange::~CallRange() { pop(); }

GroupEndRange::GroupEndRange(std::uint64_t calls) {
  if (domain() != nullptr) push(kGroupEnd, calls, 0);
}

GroupEndRange::~GroupEndRange() { pop(); }

}  // namespace duet::nccl_shim
