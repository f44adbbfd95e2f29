#include "fake_gpu/nccl/recording_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

namespace duet::nccl {

struct ncclComm {
  int rank = 0;
};
struct ncclWindow_vidmem {
  int rank = 0;
};
namespace {

std::mutex mutex;
FakeCalls state;

using Lock = std::lock_guard<std::mutex>;

Result called(const std::string& text) {
  const Lock lock(mutex);
  state.calls.push_back(text);
  return state.failing ? 3 : kSuccess;
}

Result init(Comm* comm, int size, UniqueId, int rank) {
  const Lock lock(mutex);
  ++state.comms;
  state.sizes.push_back(size);
  *comm = new ncclComm{rank};
  return kSuccess;
}

Result init_config(Comm* comm, int size, UniqueId id, int rank, Config* config) {
  {
    const Lock lock(mutex);
    state.max_ctas = config->max_ctas;
    state.cta_policy = config->cta_policy;
  }
  return init(comm, size, id, rank);
}

Result end(Comm comm, int FakeCalls::*count) {
  const Lock lock(mutex);
  ++(state.*count);
  delete comm;
  return kSuccess;
}

Result allocate(void** data, std::size_t bytes) {
  const Lock lock(mutex);
  ++state.allocations;
  *data = std::malloc(bytes);
  return kSuccess;
}

Result release(void* data) {
  const Lock lock(mutex);
  --state.allocations;
  std::free(data);
  return kSuccess;
}

Result open_window(Comm comm, void*, std::size_t bytes, Window* window, int) {
  const Lock lock(mutex);
  ++state.windows_open;
  state.windows.push_back(fmt::format("rank {}: {} bytes", comm->rank, bytes));
  *window = new ncclWindow_vidmem{comm->rank};
  return kSuccess;
}

Result close_window(Comm, Window window) {
  const Lock lock(mutex);
  --state.windows_open;
  delete window;
  return kSuccess;
}

// The collectives: functions with the parameters (send, receive, count, type, ...).
void add_collectives(Library& fake) {
  fake.all_gather = [](const void* s, void* r, std::size_t n, Type t, Comm, NativeStream) {
    return called(fmt::format("all_gather({}, {}, {}, type {})", s, r, n, t));
  };
  fake.reduce_scatter = [](const void* s, void* r, std::size_t n, Type t, Operation o, Comm,
                           NativeStream) {
    return called(fmt::format("reduce_scatter({}, {}, {}, type {}, op {})", s, r, n, t, o));
  };
  fake.all_reduce = [](const void* s, void* r, std::size_t n, Type t, Operation o, Comm,
                       NativeStream) {
    return called(fmt::format("all_reduce({}, {}, {}, type {}, op {})", s, r, n, t, o));
  };
  fake.broadcast = [](const void* s, void* r, std::size_t n, Type t, int root, Comm, NativeStream) {
    return called(fmt::format("broadcast({}, {}, {}, type {}, root {})", s, r, n, t, root));
  };
  fake.all_to_all = [](const void* s, void* r, std::size_t n, Type t, Comm, NativeStream) {
    return called(fmt::format("all_to_all({}, {}, {}, type {})", s, r, n, t));
  };
  fake.gather = [](const void* s, void* r, std::size_t n, Type t, int root, Comm, NativeStream) {
    return called(fmt::format("gather({}, {}, {}, type {}, root {})", s, r, n, t, root));
  };
  fake.scatter = [](const void* s, void* r, std::size_t n, Type t, int root, Comm, NativeStream) {
    return called(fmt::format("scatter({}, {}, {}, type {}, root {})", s, r, n, t, root));
  };
  fake.send = [](const void* s, std::size_t n, Type t, int peer, Comm, NativeStream) {
    return called(fmt::format("send({}, {}, type {}) to {}", s, n, t, peer));
  };
  fake.recv = [](void* r, std::size_t n, Type t, int peer, Comm, NativeStream) {
    return called(fmt::format("recv({}, {}, type {}) from {}", r, n, t, peer));
  };
}

}  // namespace

FakeCalls fake_calls() {
  const Lock lock(mutex);
  return state;
}

void reset(bool failing) {
  const Lock lock(mutex);
  state = FakeCalls{};
  state.failing = failing;
}

Library fake_library(int version) {
  Library fake;
  fake.product = "NCCL";
  fake.version = version;
  fake.get_unique_id = [](UniqueId*) { return kSuccess; };
  fake.error_string = [](Result) { return "internal error"; };
  fake.comm_init = init;
  fake.comm_init_config = init_config;
  fake.comm_destroy = [](Comm comm) { return end(comm, &FakeCalls::destroyed); };
  fake.comm_abort = [](Comm comm) { return end(comm, &FakeCalls::aborted); };
  fake.comm_async_error = [](Comm, Result* result) { return *result = kSuccess; };
  fake.group_start = [] { return called("group start"), kSuccess; };
  fake.group_end = [] { return called("group end"), kSuccess; };
  add_collectives(fake);
  fake.mem_alloc = allocate;
  fake.mem_free = release;
  fake.window_register = open_window;
  fake.window_deregister = close_window;
  return fake;
}

}  // namespace duet::nccl
