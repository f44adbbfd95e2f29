#include "core/module.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "core/error.h"
#include "core/thread.h"

namespace duet {
namespace {

std::string last_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown error of the loader";
}

std::filesystem::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&load_module), &info) == 0) return {};
  return std::filesystem::absolute(info.dli_fname).parent_path();
}

// modules/ beside the library in a build tree, duet/ beside the library when installed.
std::vector<std::string> module_paths(const std::string& name) {
  const std::filesystem::path folder = library_folder();
  const std::string file = fmt::format("duet_{}.so", name);
  return {(folder / "modules" / file).string(), (folder / "duet" / file).string()};
}

ModuleState load(const std::string& name) {
  ModuleState state{name, false, "not built in"};
  for (const std::string& path : module_paths(name)) {
    if (!std::filesystem::exists(path)) continue;
    try {
      Library({path}).function<void (*)()>("duet_register")();
      return {name, true, ""};
    } catch (const Error& error) {
      state.reason = error.what();
      return state;
    }
  }
  return state;
}

// Address space that a library cannot take while it is opened. Otherwise one that just fits would
// leave nothing, and whatever allocates next would end the program.
class Reserve {
 public:
  Reserve() : address_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (address_ == MAP_FAILED) throw Unavailable("no address space is left for it (ulimit -v)");
  }
  ~Reserve() { munmap(address_, kBytes); }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

 private:
  static constexpr std::size_t kBytes = 16u << 20;
  void* address_;
};

}  // namespace

Library::Library(const std::vector<std::string>& names) {
  std::string reason = "no name given";
  const Reserve reserve;
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    reason = last_error();
  }
  throw Unavailable(reason);
}

void* Library::symbol_or_null(const char* name) const { return dlsym(handle_, name); }

void* Library::symbol(const char* name) const {
  void* address = symbol_or_null(name);
  if (address == nullptr) throw Unavailable(last_error());
  return address;
}

std::string own_file(const std::string& folder, const std::string& name) {
  const std::filesystem::path beside = library_folder(),
                              file = std::filesystem::path(folder) / name;
  for (const std::filesystem::path& path : {beside / file, beside / "duet" / file}) {
    if (std::filesystem::exists(path)) return path.lexically_normal().string();
  }
  return "";
}

const ModuleState& load_module(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, ModuleState> states;
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = states.find(name);
  if (found == states.end()) found = states.emplace(name, load(name)).first;
  return found->second;
}

std::string no_room_for(std::uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  const std::uint64_t all = bytes * (allowed_cores().size() + 1);
  void* room = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    return fmt::format("it may map {} MiB when it is opened: expected more than {} leaves",
                       all >> 20, limits_text());
  }
  munmap(room, all);
  return "";
}

}  // namespace duet
