#include "collectives/nccl/library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "collectives/nccl/vendor.h"
#include "core/error.h"
#include "core/module.h"

namespace duet::nccl {
namespace {

constexpr const char* kNvls = "NCCL_NVLS_ENABLE";

template <typename Function>
void need(const duet::Library& file, const char* name, Function& function) {
  function = file.function<Function>(name);
}

// Sets `function` to the first of the names that the library has; to null where it has none.
template <typename Function>
void find(const duet::Library& file, std::initializer_list<const char*> names, Function& function) {
  for (const char* name : names) {
    try {
      function = file.function<Function>(name);
      return;
    } catch (const Unavailable&) {
      continue;  // an older library; missing() reports modes that need the function
    }
  }
}

void load_communicators(const duet::Library& file, Library& nccl) {
  need(file, "ncclGetVersion", nccl.get_version);
  need(file, "ncclGetUniqueId", nccl.get_unique_id);
  need(file, "ncclGetErrorString", nccl.error_string);
  find(file, {"ncclGetLastError"}, nccl.last_error);
  need(file, "ncclCommInitRank", nccl.comm_init);
  find(file, {"ncclCommInitRankConfig"}, nccl.comm_init_config);
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
  find(file, {"ncclAlltoAll", "ncclAllToAll"}, nccl.all_to_all);  // the second name is RCCL's
  find(file, {"ncclGather"}, nccl.gather);
  find(file, {"ncclScatter"}, nccl.scatter);
}

void load_memory(const duet::Library& file, Library& nccl) {
  find(file, {"ncclMemAlloc"}, nccl.mem_alloc);
  find(file, {"ncclMemFree"}, nccl.mem_free);
  find(file, {"ncclCommWindowRegister"}, nccl.window_register);
  find(file, {"ncclCommWindowDeregister"}, nccl.window_deregister);
}

Library open_library() {
  if (!kIsRccl) setenv(kNvls, "0", 0);  // the library reads its environment at its first call
  const duet::Library file({kFile});
  Library nccl;
  nccl.product = kProduct;
  nccl.nvls_off = !kIsRccl && std::string_view(std::getenv(kNvls)) == "0";
  load_communicators(file, nccl);
  load_collectives(file, nccl);
  load_memory(file, nccl);
  DUET_NCCL_CHECK(nccl, get_version(&nccl.version));
  return nccl;
}

}  // namespace

const Library& library() {
  static const Library instance = open_library();
  return instance;
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
