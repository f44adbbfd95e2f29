// A stand-in for RCCL: collectives of the ranks of one process, by the CPU and in stream order.
// Every call is made of messages: a rank offers what it sends, copies what others offer to it,
// waits until its own offers are taken, and only then writes its result, so that calls in place are
// right too. Calls that do not match break the communicator, which its ranks see by
// ncclCommGetAsyncError; a message that nobody takes does so after kWaitSeconds.
//
// DUET_STANDIN=rccl=X.Y.Z: it has what RCCL has in this version, where Duet depends on it (2.22.3).
// Windows: from 2.28.3 on with NCCL_CUMEM_ENABLE=1; else their registration succeeds without one. A
// communicator with the CTA policy zero then refuses buffers outside windows, which RCCL would move
// by kernels.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "collectives/nccl/abi.h"
#include "core/dtype.h"
#include "core/reduction.h"
#include "device/reduce.h"
#include "fake_gpu/hip/runtime.h"

using namespace duet::nccl;  // its types are those of the interface

namespace fake_gpu {

struct Message {
  std::string call;  // both ends state the same
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool taken = false;
};

// What the ranks of a communicator share. `mutex` guards all of it.
struct World {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, int> devices;  // by rank that has joined
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>>
      offered;  // by sender, receiver
  Result state = kSuccess;
};

}  // namespace fake_gpu
namespace duet::nccl {

struct ncclWindow_vidmem {
  const std::byte* base = nullptr;
  std::size_t bytes = 0;
};

struct ncclComm {
  std::shared_ptr<fake_gpu::World> world;
  int rank = 0, size = 0, device = 0;
  bool zero_cta = false;
  std::vector<std::unique_ptr<ncclWindow_vidmem>> windows;
};

}  // namespace duet::nccl
namespace {

using fake_gpu::Message;
using fake_gpu::World;

constexpr int kWindowsSince = 22803;
constexpr int kNoAllToAllAloneSince = 22707, kNoAllToAllAloneUntil = 22803;
constexpr std::chrono::seconds kWaitSeconds{60};

int version() {
  int major = 2, minor = 22, patch = 3;
  std::sscanf(fake_gpu::setting("rccl=").c_str(), "rccl=%d.%d.%d", &major, &minor, &patch);
  return 10000 * major + 100 * minor + patch;
}

bool has_windows() {
  const char* const virtual_memory = std::getenv("NCCL_CUMEM_ENABLE");
  return version() >= kWindowsSince && virtual_memory != nullptr &&
         std::string(virtual_memory) == "1";
}

// Waits until the condition holds; false if the communicator is broken, also by this wait's
// deadline.
template <typename Condition>
bool wait_for(World& world, std::unique_lock<std::mutex>& lock, Condition holds) {
  const auto over = [&] { return world.state != kSuccess || holds(); };
  if (!world.changed.wait_for(lock, kWaitSeconds, over)) world.state = kSystemError;
  world.changed.notify_all();
  return world.state == kSuccess;
}

void break_world(World& world, Result state, const std::string& why) {
  std::fprintf(stderr, "stand-in for RCCL: %s\n", why.c_str());
  world.state = state;
  world.changed.notify_all();
}

struct Send {
  int peer = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};
struct Receive {
  int peer = 0;
  std::byte* data = nullptr;  // of a reduction all are the same
  std::size_t bytes = 0;
};

// One rank's part of a call.
struct Part {
  std::string call;
  std::vector<Send> sends;
  std::vector<Receive> receives;
  bool reduces = false;
  duet::DType dtype = duet::DType::int8;
  duet::Reduction operation = duet::Reduction::sum;
};

std::vector<std::shared_ptr<Message>> offer(World& world, int rank, const Part& part) {
  std::vector<std::shared_ptr<Message>> made;
  const std::lock_guard<std::mutex> lock(world.mutex);
  for (const Send& send : part.sends) {
    made.push_back(std::make_shared<Message>(Message{part.call, send.data, send.bytes, false}));
    world.offered[{rank, send.peer}].push_back(made.back());
  }
  world.changed.notify_all();
  return made;
}

// Takes the next message from a peer; empty if there is none that matches.
std::vector<std::byte> take(World& world, int rank, const Part& part, const Receive& receive) {
  std::unique_lock<std::mutex> lock(world.mutex);
  auto& queue = world.offered[{receive.peer, rank}];
  if (!wait_for(world, lock, [&] { return !queue.empty(); })) return {};
  const std::shared_ptr<Message> message = queue.front();
  queue.pop_front();
  if (message->call != part.call || message->bytes != receive.bytes) {
    break_world(world, kInvalidUsage,
                "rank " + std::to_string(rank) + " expects " + std::to_string(receive.bytes) +
                    " bytes by " + part.call + ", rank " + std::to_string(receive.peer) +
                    " sends " + std::to_string(message->bytes) + " by " + message->call);
    return {};
  }
  std::vector<std::byte> bytes(message->data, message->data + message->bytes);
  message->taken = true;
  world.changed.notify_all();
  return bytes;
}

void write(const Part& part, const std::vector<std::vector<std::byte>>& received) {
  if (part.reduces) {
    std::vector<const std::byte*> inputs;
    for (const auto& each : received) inputs.push_back(each.data());
    duet::reduce(part.dtype, part.operation, inputs, part.receives.front().data,
                 received.front().size() / duet::size_of(part.dtype));
    return;
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    std::memcpy(part.receives[i].data, received[i].data(), received[i].size());
  }
}

void run(World& world, int rank, int device, const Part& part) {
  for (const Send& each : part.sends) {
    fake_gpu::require_reach(device, each.data, each.bytes, "RCCL's source");
  }
  for (const Receive& each : part.receives) {
    fake_gpu::require_reach(device, each.data, each.bytes, "RCCL's destination");
  }
  const auto offers = offer(world, rank, part);
  std::vector<std::vector<std::byte>> received;
  for (const Receive& each : part.receives) {
    received.push_back(take(world, rank, part, each));
    if (received.back().size() != each.bytes) return;
  }
  {
    std::unique_lock<std::mutex> lock(world.mutex);
    for (const auto& each : offers) {
      if (!wait_for(world, lock, [&] { return each->taken; })) return;
    }
  }
  if (!received.empty()) write(part, received);
}

bool in_window(const ncclComm& comm, const std::byte* data, std::size_t bytes) {
  for (const auto& window : comm.windows) {
    if (data >= window->base && data + bytes <= window->base + window->bytes) return true;
  }
  return false;
}

// Whether RCCL makes the part by copy engines.
bool all_in_windows(const ncclComm& comm, const Part& part) {
  for (const Send& each : part.sends) {
    if (!in_window(comm, each.data, each.bytes)) return false;
  }
  for (const Receive& each : part.receives) {
    if (!in_window(comm, each.data, each.bytes)) return false;
  }
  return true;
}

// Enqueues one rank's part.
Result enqueue(Comm comm, Part part, NativeStream stream) {
  auto* native = static_cast<hipStream_t>(stream);
  if (fake_gpu::current_device() != comm->device) return kInvalidUsage;
  if (comm->zero_cta && !all_in_windows(*comm, part)) return kInvalidUsage;
  if (fake_gpu::find_stream(native) != hipSuccess) return kInvalidArgument;
  const hipError_t error =
      fake_gpu::launch(native, [world = comm->world, rank = comm->rank, part = std::move(part)](
                                   int device) { run(*world, rank, device, part); });
  return error == hipSuccess ? kSuccess : kUnhandledDeviceError;
}

// The group of the calling thread: sends and receives only, of one communicator and stream.
struct Open {
  int depth = 0;
  Comm comm = nullptr;
  NativeStream stream = nullptr;
  Part part;
};
thread_local Open open_group;

std::size_t bytes_of(std::size_t count, Type type) {
  return count * (type == kUint8 ? 1 : type == kFloat16 || type == kBfloat16 ? 2 : 4);
}

std::string call_text(const char* name, Type type, int more) {
  return std::string(name) + " type " + std::to_string(type) + " " + std::to_string(more);
}

// Adds a move in one direction to the group of this thread, or makes it alone.
template <typename Add>
Result move(Comm comm, NativeStream stream, Type type, Add add) {
  Open alone;
  Open& group = open_group.depth > 0 ? open_group : alone;
  if (group.comm != nullptr && (group.comm != comm || group.stream != stream)) {
    return kInvalidUsage;
  }
  group.comm = comm;
  group.stream = stream;
  group.part.call = call_text("send and receive", type, 0);
  add(group.part);
  return open_group.depth > 0 ? kSuccess : enqueue(comm, std::move(group.part), stream);
}

const std::byte* at(const void* data, std::size_t offset) {
  return static_cast<const std::byte*>(data) + offset;
}
std::byte* at(void* data, std::size_t offset) { return static_cast<std::byte*>(data) + offset; }

bool set_reduction(Part& part, Type type, Operation operation) {
  part.reduces = true;
  const std::map<Type, duet::DType> types{{kFloat32, duet::DType::fp32},
                                          {kFloat16, duet::DType::fp16},
                                          {kBfloat16, duet::DType::bf16},
                                          {kInt32, duet::DType::int32}};
  const std::map<Operation, duet::Reduction> operations{{kSum, duet::Reduction::sum},
                                                        {kMax, duet::Reduction::max},
                                                        {kMin, duet::Reduction::min},
                                                        {kAvg, duet::Reduction::avg}};
  if (types.count(type) == 0 || operations.count(operation) == 0) return false;
  part.dtype = types.at(type);
  part.operation = operations.at(operation);
  return true;
}

// All ranks that initialise with one id; the world lives as long as a communicator of it.
std::shared_ptr<World> world_of(const std::string& id) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<World>> worlds;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<World> world = worlds[id].lock();
  if (world == nullptr) worlds[id] = world = std::make_shared<World>();
  return world;
}

Result end(Comm comm, Result state) {
  if (state != kSuccess) {
    const std::lock_guard<std::mutex> lock(comm->world->mutex);
    comm->world->state = state;
    comm->world->changed.notify_all();
  }
  delete comm;
  return kSuccess;
}

}  // namespace

extern "C" {

Result ncclGetVersion(int* number) {
  *number = version();
  return kSuccess;
}

Result ncclGetUniqueId(UniqueId* id) {
  static std::mutex mutex;
  static int made = 0;
  const std::lock_guard<std::mutex> lock(mutex);
  std::snprintf(id->bytes, sizeof id->bytes, "%d:%d", static_cast<int>(getpid()), ++made);
  return kSuccess;
}

const char* ncclGetErrorString(Result result) {
  return result == kSuccess        ? "no error"
         : result == kInvalidUsage ? "invalid usage"
         : result == kSystemError  ? "system error: the stand-in has ranks of one process"
                                   : "error";
}

Result ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank) {
  if (std::atoi(id.bytes) != getpid()) return kSystemError;
  if (rank < 0 || rank >= size) return kInvalidArgument;
  const std::shared_ptr<World> world = world_of(id.bytes);
  std::unique_lock<std::mutex> lock(world->mutex);
  for (const auto& joined : world->devices) {
    if (joined.second == fake_gpu::current_device()) world->state = kInvalidUsage;
  }
  world->devices[rank] = fake_gpu::current_device();
  const auto all = static_cast<std::size_t>(size);
  if (!wait_for(*world, lock, [&] { return world->devices.size() == all; })) return world->state;
  *comm = new ncclComm{world, rank, size, fake_gpu::current_device(), false, {}};
  return kSuccess;
}

Result ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, Config* config) {
  const bool limit = config->max_ctas == kUndefined || config->max_ctas > 0;
  if (config->magic != Config{}.magic || !limit) return kInvalidArgument;
  const Result result = ncclCommInitRank(comm, size, id, rank);
  if (result == kSuccess) {
    (*comm)->zero_cta = config->cta_policy == kPolicyZeroCta && version() >= kWindowsSince;
  }
  return result;
}

Result ncclMemAlloc(void** data, std::size_t bytes) {
  return hipMalloc(data, bytes) == hipSuccess ? kSuccess : kUnhandledDeviceError;
}
Result ncclMemFree(void* data) {
  return hipFree(data) == hipSuccess ? kSuccess : kUnhandledDeviceError;
}

Result ncclCommWindowRegister(Comm comm, void* data, std::size_t bytes, Window* window, int flags) {
  *window = nullptr;
  if (flags != kWindowSymmetric || !fake_gpu::reaches(comm->device, data, bytes)) {
    return kInvalidArgument;
  }
  if (!has_windows()) return kSuccess;
  comm->windows.push_back(std::make_unique<ncclWindow_vidmem>());
  *comm->windows.back() = {static_cast<const std::byte*>(data), bytes};
  *window = comm->windows.back().get();
  return kSuccess;
}

Result ncclCommWindowDeregister(Comm comm, Window window) {
  for (auto each = comm->windows.begin(); each != comm->windows.end(); ++each) {
    if (each->get() != window) continue;
    comm->windows.erase(each);
    return kSuccess;
  }
  return kInvalidArgument;
}

Result ncclCommDestroy(Comm comm) { return end(comm, kSuccess); }
Result ncclCommAbort(Comm comm) { return end(comm, kRemoteError); }

Result ncclCommGetAsyncError(Comm comm, Result* state) {
  const std::lock_guard<std::mutex> lock(comm->world->mutex);
  *state = comm->world->state;
  return kSuccess;
}

Result ncclGroupStart() {
  ++open_group.depth;
  return kSuccess;
}

Result ncclGroupEnd() {
  if (open_group.depth == 0) return kInvalidUsage;
  if (--open_group.depth > 0) return kSuccess;
  Open group = std::exchange(open_group, {});
  return group.comm == nullptr ? kSuccess
                               : enqueue(group.comm, std::move(group.part), group.stream);
}

Result ncclSend(const void* data, std::size_t count, Type type, int peer, Comm comm,
                NativeStream stream) {
  return move(comm, stream, type, [&](Part& part) {
    part.sends.push_back({peer, at(data, 0), bytes_of(count, type)});
  });
}

Result ncclRecv(void* data, std::size_t count, Type type, int peer, Comm comm,
                NativeStream stream) {
  return move(comm, stream, type, [&](Part& part) {
    part.receives.push_back({peer, at(data, 0), bytes_of(count, type)});
  });
}

Result ncclAllGather(const void* send, void* recv, std::size_t count, Type type, Comm comm,
                     NativeStream stream) {
  const std::size_t bytes = bytes_of(count, type);
  Part part;
  part.call = call_text("all_gather", type, 0);
  for (int peer = 0; peer < comm->size; ++peer) {
    part.sends.push_back({peer, at(send, 0), bytes});
    part.receives.push_back({peer, at(recv, static_cast<std::size_t>(peer) * bytes), bytes});
  }
  return enqueue(comm, std::move(part), stream);
}

Result ncclAllToAll(const void* send, void* recv, std::size_t count, Type type, Comm comm,
                    NativeStream stream) {
  const std::size_t bytes = bytes_of(count, type);
  if (comm->size == 1 && version() >= kNoAllToAllAloneSince && version() <= kNoAllToAllAloneUntil) {
    return kSystemError;  // where RCCL does not end
  }
  Part part;
  part.call = call_text("all_to_all", type, 0);
  for (int peer = 0; peer < comm->size; ++peer) {
    const std::size_t offset = static_cast<std::size_t>(peer) * bytes;
    part.sends.push_back({peer, at(send, offset), bytes});
    part.receives.push_back({peer, at(recv, offset), bytes});
  }
  return enqueue(comm, std::move(part), stream);
}

Result ncclReduceScatter(const void* send, void* recv, std::size_t count, Type type,
                         Operation operation, Comm comm, NativeStream stream) {
  const std::size_t bytes = bytes_of(count, type);
  Part part;
  part.call = call_text("reduce_scatter", type, operation);
  if (!set_reduction(part, type, operation)) return kInvalidArgument;
  for (int peer = 0; peer < comm->size; ++peer) {
    part.sends.push_back({peer, at(send, static_cast<std::size_t>(peer) * bytes), bytes});
    part.receives.push_back({peer, at(recv, 0), bytes});
  }
  return enqueue(comm, std::move(part), stream);
}

Result ncclAllReduce(const void* send, void* recv, std::size_t count, Type type,
                     Operation operation, Comm comm, NativeStream stream) {
  Part part;
  part.call = call_text("all_reduce", type, operation);
  if (!set_reduction(part, type, operation)) return kInvalidArgument;
  for (int peer = 0; peer < comm->size; ++peer) {
    part.sends.push_back({peer, at(send, 0), bytes_of(count, type)});
    part.receives.push_back({peer, at(recv, 0), bytes_of(count, type)});
  }
  return enqueue(comm, std::move(part), stream);
}

Result ncclBroadcast(const void* send, void* recv, std::size_t count, Type type, int root,
                     Comm comm, NativeStream stream) {
  const std::size_t bytes = bytes_of(count, type);
  Part part;
  part.call = call_text("broadcast", type, root);
  for (int peer = 0; comm->rank == root && peer < comm->size; ++peer) {
    part.sends.push_back({peer, at(send, 0), bytes});
  }
  part.receives.push_back({root, at(recv, 0), bytes});
  return enqueue(comm, std::move(part), stream);
}
}
