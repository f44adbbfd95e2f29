// Shared libraries that are opened at run time: Duet's own vendor modules, and optional libraries
// such as NVML. Duet starts without a module that cannot be opened, and reports why.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace duet {

// A dlopen handle. The library is never closed before the process ends, because vendor runtimes
// register exit handlers, which need their code.
class Library {
 public:
  // Opens the first of `names` that can be opened. Throws Unavailable with the loader's message for
  // the last one if none can.
  explicit Library(const std::vector<std::string>& names);

  // Throws Unavailable if the symbol is missing.
  void* symbol(const char* name) const;

  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

  // Sets `function` to the first of the names that the library has; without any it stays as it is.
  template <typename Function>
  void find(std::initializer_list<const char*> names, Function& function) const {
    for (const char* name : names) {
      if (void* const address = symbol_or_null(name)) {
        function = reinterpret_cast<Function>(address);
        return;
      }
    }
  }

 private:
  void* symbol_or_null(const char* name) const;

  void* handle_ = nullptr;
};

// Whether one of Duet's modules could be loaded. Its file is modules/duet_NAME.so beside the
// library in a build tree, duet/duet_NAME.so beside the library when installed. A module registers
// its devices and engines when it is loaded.
struct ModuleState {
  std::string name;  // "cuda", "hip", "onednn", "openblas"
  bool loaded = false;
  std::string reason;  // one line, if not loaded
};

// Loads a module once; later calls return the same state. Thread-safe. Does not throw if the module
// cannot be loaded.
const ModuleState& load_module(const std::string& name);

// The absolute path of a file that Duet brings: FOLDER/NAME beside the library in a build tree,
// duet/FOLDER/NAME beside the library when installed; "" where there is none.
std::string own_file(const std::string& folder, const std::string& name);

// Whether the limit on this process's address space (ulimit -v) leaves room for a library that maps
// memory when it is loaded.

// OpenBLAS maps this much for itself and for each thread when it is loaded, and retries forever if
// the mapping fails.
constexpr std::uint64_t kOpenBlasBytes = 320ull << 20;

// Returns "" if (cores + 1) x `bytes` can be mapped, for the cores that this thread may run on;
// otherwise why not.
std::string no_room_for(std::uint64_t bytes);

}  // namespace duet
