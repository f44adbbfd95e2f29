#include "collectives/nccl/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/nccl/vendor.h"
#include "core/error.h"
#include "core/module.h"
#include "core/packets.h"

namespace duet::nccl {
namespace {

constexpr const char* kNvls = "NCCL_NVLS_ENABLE";

// Throws Unavailable if neither `file` nor `function` has it.
template <typename Function>
void need(const duet::Library& file, const char* name, Function& function) {
  file.find({name}, function);
  if (function == nullptr) function = file.function<Function>(name);
}

void load_communicators(const duet::Library& file, Library& nccl) {
  need(file, "ncclGetVersion", nccl.get_version);
  need(file, "ncclGetUniqueId", nccl.get_unique_id);
  need(file, "ncclGetErrorString", nccl.error_string);
  file.find({"ncclGetLastError"}, nccl.last_error);
  need(file, "ncclCommInitRank", nccl.comm_init);
  file.find({"ncclCommInitRankConfig"}, nccl.comm_init_config);
  need(file, "ncclCommDestroy", nccl.comm_destroy);
  need(file, "ncclCommAbort", nccl.comm_abort);
  need(file, "ncclCommGetAsyncError", nccl.comm_async_error);
}

void load_collectives(const duet::Library& file, Library& nccl) {
  need(file, "ncclGroupStart", nccl.group_start);
  need(file, "ncclGroupEnd", nccl.group_end);
  need(file, "ncclSend", nccl.send);
  need(file, "ncclRecv", nccl.recv);
  need(file, "ncclAllGather", nccl.all_gather);
  need(file, "ncclReduceScatter", nccl.reduce_scatter);
  need(file, "ncclAllReduce", nccl.all_reduce);
  need(file, "ncclBroadcast", nccl.broadcast);
  file.find({"ncclAlltoAll", "ncclAllToAll"}, nccl.all_to_all);  // the second name is RCCL's
  file.find({"ncclGather"}, nccl.gather);
  file.find({"ncclScatter"}, nccl.scatter);
}

void load_memory(const duet::Library& file, Library& nccl) {
  file.find({"ncclMemAlloc"}, nccl.mem_alloc);
  file.find({"ncclMemFree"}, nccl.mem_free);
  file.find({"ncclCommWindowRegister"}, nccl.window_register);
  file.find({"ncclCommWindowDeregister"}, nccl.window_deregister);
}

// Functions that `file` lacks stay as they are.
void load(const duet::Library& file, Library& nccl) {
  load_communicators(file, nccl);
  load_collectives(file, nccl);
  load_memory(file, nccl);
}

Library open_library() {
  if (!kIsRccl) setenv(kNvls, "0", 0);  // the library reads its environment at its first call
  const duet::Library file({kFile});
  Library nccl;
  nccl.product = kProduct;
  nccl.nvls_off = !kIsRccl && std::string_view(std::getenv(kNvls)) == "0";
  load(file, nccl);
  DUET_NCCL_CHECK(nccl, get_version(&nccl.version));
  return nccl;
}

// Variables of the environment that are set as long as this object exists, if they are not already.
class OwnVariables {
 public:
  OwnVariables() = default;
  ~OwnVariables() {
    for (const std::string& each : set_) unsetenv(each.c_str());
  }
  OwnVariables(const OwnVariables&) = delete;
  OwnVariables& operator=(const OwnVariables&) = delete;

  void set(const std::string& name, const std::string& value) {
    if (value.empty() || std::getenv(name.c_str()) != nullptr) return;
    setenv(name.c_str(), value.c_str(), 0);
    set_.push_back(name);
  }

 private:
  std::vector<std::string> set_;
};

// The path of the file that NCCL's functions are in; "" if it is not known.
std::string file_of(const Library& library) {
  Dl_info found{};
  const bool known =
      dladdr(reinterpret_cast<const void*>(library.get_unique_id), &found) != 0 && found.dli_fname;
  const std::string path = known ? found.dli_fname : "";
  return path.find('/') == std::string::npos ? "" : path;
}

}  // namespace

const Library& library() {
  static const Library instance = open_library();
  return instance;
}

Library with_drop_in(const Library& library, const std::string& path, DropInMeans means) {
  OwnVariables variables;
  if (means == DropInMeans::kernel) {
    variables.set("DUET_NCCL", file_of(library));
    variables.set("DUET_NCCL_KERNEL", "1024G");
  } else {
    for (const char* kind :
         {"ALL_GATHER", "ALL_TO_ALL", "BROADCAST", "REDUCE_SCATTER", "ALL_REDUCE", "SEND_RECV"}) {
      variables.set(fmt::format("DUET_NCCL_MIN_{}", kind), "1");
    }
    variables.set("DUET_NCCL_PACKETS", std::to_string(kMostDropInPackets));
  }
  Library both = library;
  load(duet::Library({path}), both);
  // It reads its environment in its first call. What it has to say of it is an error of all calls.
  if (both.group_start() == kSuccess) forget(both.group_end());
  return both;
}

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

void throw_error(const Library& library, Result result, const char* call, const char* file,
                 int line) {
  const char* last = library.last_error != nullptr ? library.last_error(nullptr) : nullptr;
  const std::string detail = last != nullptr && *last != '\0' ? fmt::format(": {}", last) : "";
  const std::string path = file;
  const std::size_t root = path.rfind("src/");
  throw Error(fmt::format("{} {}: {}{} at {}:{}", library.product, call,
                          library.error_string(result), detail,
                          root == std::string::npos ? path : path.substr(root + 4), line));
}

}  // namespace duet::nccl
