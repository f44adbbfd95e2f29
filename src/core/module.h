// Shared libraries that are opened at run time: Duet's own vendor modules and optional libraries
// such as NVML. What cannot be opened is a reason, not a failure to start.
#pragma once

#include <string>
#include <vector>

namespace duet {

// A dlopen handle. Move-only; closing is left to the process's end, since vendor runtimes
// register exit handlers that must not outlive their code.
class Library {
 public:
  // Tries the names in order; throws Unavailable with the loader's message for the last one.
  explicit Library(const std::vector<std::string>& names);

  // Throws Unavailable if the symbol is missing.
  void* symbol(const char* name) const;

  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* handle_ = nullptr;
};

// One of Duet's modules (build/modules/duet_NAME.so beside the library, or lib/duet/ where it is
// installed) and whether it could be loaded. A module registers what it brings when it is loaded.
struct ModuleState {
  std::string name;  // "cuda", "hip", "onednn", "openblas"
  bool loaded = false;
  std::string reason;  // one line, where not loaded
};

// Loads a module once; later calls return the same state.
const ModuleState& load_module(const std::string& name);

}  // namespace duet
