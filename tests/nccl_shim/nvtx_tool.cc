// A tool that NVTX loads into a program by NVTX_INJECTION64_PATH. It prints the domains, and the
// ranges of threads as they begin and end: "Duet: all_gather 16384 by copies" with the payload of a
// registered name and the range's category, "Duet: gemm" of a text, "Duet: end".
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace {

// A domain and a name are handles of their own: their texts, which stay.
nvtxDomainHandle_t create_domain(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new std::string(name));
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new std::string(text));
}

const char* text_of(const void* handle) { return static_cast<const std::string*>(handle)->c_str(); }

// By number, as there is one domain.
std::map<std::uint32_t, std::string>& categories() {
  static auto& all = *new std::map<std::uint32_t, std::string>;
  return all;
}

void name_category(nvtxDomainHandle_t, std::uint32_t category, const char* name) {
  categories()[category] = std::string(" by ") + name;
}

int begin_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (event->messageType == NVTX_MESSAGE_TYPE_ASCII) {
    std::fprintf(stderr, "%s: %s\n", text_of(domain), event->message.ascii);
    return 0;
  }
  std::fprintf(stderr, "%s: %s %llu%s\n", text_of(domain), text_of(event->message.registered),
               static_cast<unsigned long long>(event->payload.ullValue),
               categories()[event->category].c_str());
  return 0;
}

int end_range(nvtxDomainHandle_t domain) {
  std::fprintf(stderr, "%s: end\n", text_of(domain));
  return 0;
}

template <typename Function>
void set(NvtxFunctionTable table, int number, Function* function) {
  *table[number] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  set(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  set(table, NVTX_CBID_CORE2_DomainNameCategoryA, name_category);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, begin_range);
  set(table, NVTX_CBID_CORE2_DomainRangePop, end_range);
  return 1;
}
