#include "core/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace duet::nvtx {
namespace {

// Null where no tool has been loaded into the process. NVTX loads it here.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("Duet");
  return made;
}

nvtxEventAttributes_t event() {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return event;
}

}  // namespace

bool has_tool() { return domain() != nullptr; }

Name registered(const char* name) { return nvtxDomainRegisterStringA(domain(), name); }

void name_category(std::uint32_t category, const char* name) {
  nvtxDomainNameCategoryA(domain(), category, name);
}

void push(Name name, std::uint64_t payload, std::uint32_t category) {
  nvtxEventAttributes_t range = event();
  range.category = category;
  range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range.message.registered = static_cast<nvtxStringHandle_t>(name);
  range.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  range.payload.ullValue = payload;
  nvtxDomainRangePushEx(domain(), &range);
}

void push(const std::string& text) {
  nvtxEventAttributes_t range = event();
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = text.c_str();
  nvtxDomainRangePushEx(domain(), &range);
}

void pop() { nvtxDomainRangePop(domain()); }

}  // namespace duet::nvtx
