#include "nccl_shim/real_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/nccl/abi.h"
#include "core/error.h"
#include "nccl_shim/functions.h"
#include "nccl_shim/log.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {
namespace {

// With its own symbols first: NCCL calls its public functions, which would be the drop-in's
// otherwise.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kOpenPath = RTLD_NOW | RTLD_LOCAL;  // sanitizers refuse RTLD_DEEPBIND
#else
constexpr int kOpenPath = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

std::string loader_message() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

// Whether `address` is of the drop-in itself.
bool is_own(void* address) {
  Dl_info of_address{}, of_this{};
  static const char anchor = 0;
  return dladdr(address, &of_address) != 0 && dladdr(&anchor, &of_this) != 0 &&
         of_address.dli_fbase == of_this.dli_fbase;
}

void* open_real() {
  const std::string& path = settings().real_path;
  void* handle = path.empty() ? dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD)
                              : dlopen(path.c_str(), kOpenPath);
  if (handle == nullptr) {
    throw Unavailable(path.empty()
                          ? "no libnccl.so.2 is loaded: set DUET_NCCL to the real library's "
                            "path"
                          : "DUET_NCCL=" + path + ": " + loader_message());
  }
  void* version = dlsym(handle, "ncclGetVersion");
  if (version == nullptr || is_own(version)) {
    throw Unavailable((path.empty() ? "libnccl.so.2" : "DUET_NCCL=" + path) +
                      (version == nullptr
                           ? " has no ncclGetVersion: expected NCCL"
                           : " is Duet's own: set DUET_NCCL to the real library's path"));
  }
  return handle;
}

void* real_handle() {
  static void* const handle = open_real();
  return handle;
}

// Of a library in memory.
struct Range {
  std::uintptr_t begin = 0, end = 0;
  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

struct Search {
  std::uintptr_t address;  // in the library that is looked for
  Range found;
};

int look_at(dl_phdr_info* library, std::size_t, void* data) {
  auto* const search = static_cast<Search*>(data);
  Range range{UINTPTR_MAX, 0};
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = library->dlpi_addr + part.p_vaddr;
    range.begin = std::min(range.begin, begin);
    range.end = std::max(range.end, begin + part.p_memsz);
  }
  if (!range.has(search->address)) return 0;
  search->found = range;
  return 1;
}

Range find_real() {
  try {
    Search search{reinterpret_cast<std::uintptr_t>(real_function("ncclGetVersion")), {}};
    dl_iterate_phdr(look_at, &search);
    return search.found;
  } catch (const Error&) {
    return {};
  }
}

// Of what the drop-in wraps or passes on, and of what NCCL exports for itself alone.
bool is_known(std::string_view name) {
#define DUET_NCCL_NAME(each) #each,
  constexpr std::string_view kNames[] = {DUET_NCCL_WRAPPED(DUET_NCCL_NAME) DUET_NCCL_PASSED_ON(
      DUET_NCCL_NAME) "ncclResetDebugInitInternal"};
#undef DUET_NCCL_NAME
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// The dynamic symbols of a library in memory, as its dynamic section tells.
struct DynamicSymbols {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH

  explicit DynamicSymbols(const ElfW(Dyn) * section) {
    for (; section->d_tag != DT_NULL; ++section) {
      const auto at = section->d_un.d_ptr;  // the loader has added where the library begins
      if (section->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (section->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(at);
      if (section->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const std::uint32_t*>(at);
    }
  }

  bool are_found() const { return symbols != nullptr && names != nullptr && hash != nullptr; }

  // One more than the largest number of a defined symbol: those of the last chain of the hash
  // table, whose last entry has its lowest bit set.
  std::uint32_t count() const {
    const std::uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2];
    const std::uint32_t* const bucket = hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
    const std::uint32_t* const chain = bucket + buckets;
    std::uint32_t last = buckets == 0 ? 0 : *std::max_element(bucket, bucket + buckets);
    if (last < first) return first;
    while ((chain[last - first] & 1) == 0) ++last;
    return last + 1;
  }
};

nccl::Result refuse_argument() { return nccl::kInvalidArgument; }
nccl::Result refuse_usage() { return nccl::kInvalidUsage; }
nccl::Result refuse_system() { return nccl::kSystemError; }
const char* refuse_text() { return "the real NCCL cannot be used"; }

}  // namespace

void* real_function(const char* name) { return dlsym(real_handle(), name); }

void* real_function_or_refusal(const char* name) {
  nccl::Result (*refusal)() = refuse_usage;
  std::string why = "the real NCCL is older and has no such function";
  try {
    if (void* found = real_function(name)) return found;
  } catch (const UsageError& error) {
    refusal = refuse_argument;
    why = error.what();
  } catch (const Error& error) {
    refusal = refuse_system;
    why = error.what();
  }
  log_error(std::string(name) + ": " + why);
  const bool is_text = std::string_view(name) == "ncclGetErrorString";
  return is_text ? reinterpret_cast<void*>(refuse_text) : reinterpret_cast<void*>(refusal);
}

bool is_real(const void* address) {
  static const Range real = find_real();
  return real.has(reinterpret_cast<std::uintptr_t>(address));
}

std::string real_version() {
  using Ask = nccl::Result (*)(int*);
  int code = 0;
  try {
    const auto ask = reinterpret_cast<Ask>(real_function("ncclGetVersion"));
    if (ask == nullptr || ask(&code) != nccl::kSuccess) return "";
  } catch (const Error&) {
    return "";
  }
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::vector<std::string> unknown_functions() {
  std::vector<std::string> unknown;
  link_map* library = nullptr;
  try {
    if (dlinfo(real_handle(), RTLD_DI_LINKMAP, &library) != 0) return unknown;
  } catch (const Error&) {
    return unknown;
  }
  const DynamicSymbols all(library->l_ld);
  if (!all.are_found()) return unknown;
  for (std::uint32_t i = 0; i < all.count(); ++i) {
    const ElfW(Sym)& symbol = all.symbols[i];
    const std::string_view name = all.names + symbol.st_name;
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (!is_function || symbol.st_shndx == SHN_UNDEF || name.substr(0, 4) != "nccl") continue;
    if (!is_known(name)) unknown.emplace_back(name);
  }
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

}  // namespace duet::nccl_shim
