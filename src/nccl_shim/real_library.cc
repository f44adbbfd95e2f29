#include "nccl_shim/real_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/nccl/abi.h"
#include "core/error.h"
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

nccl::Result refuse_argument() { return nccl::kInvalidArgument; }
nccl::Result refuse_usage() { return nccl::kInvalidUsage; }
nccl::Result refuse_system() { return nccl::kSystemError; }
const char* refuse_text() { return "the real NCCL cannot be used"; }

}  // namespace

void* real_function(const char* name) {
  static void* const handle = open_real();
  return dlsym(handle, name);
}

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

}  // namespace duet::nccl_shim
