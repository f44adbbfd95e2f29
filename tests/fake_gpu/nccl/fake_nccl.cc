// A libnccl.so.2 for tests: its communicators are of processes of one machine, on streams of fake
// GPUs. rccl.cc is another: there ranks are threads, which move data of any size, by the rules of
// versions of RCCL; here they are processes, of which some die, that create, split and shrink
// communicators, with little data.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_gpu/core/streams.h"
#include "fake_gpu/cuda/host_gpu.h"
#include "fake_gpu/nccl/nccl_calls.h"

namespace duet::nccl {

constexpr int kRanks = 8;
constexpr std::size_t kMostBytes = 1 << 16;
constexpr std::size_t kMostOfMessage = 1 << 13;
constexpr int kMessagesAhead = 4;

// Messages of one rank to another that have been written and not yet read.
struct Box {
  std::atomic<int> written, read;
  unsigned char data[kMessagesAhead][kMostOfMessage];
};

// What ranks share.
struct Shared {
  std::atomic<int> present;
  std::atomic<int> come[2];  // to a barrier, in turn
  std::atomic<int> barriers;
  std::atomic<int> splitting, split;  // ranks that have come to a split, and that have read it
  int colors[kRanks], keys[kRanks];
  unsigned char data[kRanks][kMostBytes];
  Box boxes[kRanks][kRanks];
};

struct ncclComm {
  std::string name;
  int rank, ranks, device = host_gpu_device(), splits = 0;
  std::map<int, int> shrinks;  // by the first rank that is left out
  Shared* shared;
  std::atomic<bool> aborted{false}, revoked{false};
  std::atomic<int> running{0};  // calls
  bool blocking = true;
  std::atomic<int> to_launch{0};  // groups that have ended

  ncclComm(const std::string& of, int own, int all) : name(of), rank(own), ranks(all) {
    const int file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, sizeof(Shared)) != 0) std::perror("fake_nccl");
    shared = static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
  }
  ~ncclComm() {
    shm_unlink(name.c_str());  // still there if not all have come
    munmap(shared, sizeof(Shared));
  }

  void join() { ++shared->present; }

  void wait_for_all() const {
    while (shared->present < ranks) usleep(20);
    shm_unlink(name.c_str());
  }

  void barrier() {
    const int number = shared->barriers;
    if (++shared->come[number % 2] == ranks) {
      shared->come[number % 2] = 0;
      ++shared->barriers;
    }
    while (shared->barriers == number && !aborted) usleep(20);
  }
};

}  // namespace duet::nccl

namespace {

using duet::nccl::Box;
using duet::nccl::kMostBytes;
using duet::nccl::ncclComm;
using duet::nccl::Shared;

std::atomic<int> calls{0};
std::atomic<const char*> last_error{""};

void gather(ncclComm& comm, const void* send, void* receive, std::size_t bytes) {
  ++comm.running;
  std::memcpy(comm.shared->data[comm.rank], send, bytes);
  comm.barrier();
  for (int from = 0; from < comm.ranks; ++from) {
    std::memcpy(static_cast<char*>(receive) + static_cast<std::size_t>(from) * bytes,
                comm.shared->data[from], bytes);
  }
  comm.barrier();
  --comm.running;
}

void send_message(ncclComm& comm, const void* data, std::size_t bytes, int peer) {
  Box& box = comm.shared->boxes[comm.rank][peer];
  while (box.written - box.read == duet::nccl::kMessagesAhead && !comm.aborted) usleep(20);
  std::memcpy(box.data[box.written % duet::nccl::kMessagesAhead], data, bytes);
  ++box.written;
}

void receive_message(ncclComm& comm, void* data, std::size_t bytes, int peer) {
  Box& box = comm.shared->boxes[peer][comm.rank];
  while (box.written == box.read && !comm.aborted) usleep(20);
  std::memcpy(data, box.data[box.read % duet::nccl::kMessagesAhead], bytes);
  ++box.read;
}

bool is_nonblocking(const duet::nccl::Config* config) {
  const char* const forced = std::getenv("NCCL_COMM_BLOCKING");
  if (forced != nullptr) return std::strcmp(forced, "0") == 0;
  return config != nullptr && config->blocking == 0;
}

thread_local int depth = 0;
thread_local ncclResult_t group_error = 0;
struct Launch {
  ncclComm* comm;
  std::function<void()> work;
  void* stream;

  void enqueue() const { fake_gpu::Stream::of(stream).enqueue(work); }
};
thread_local std::vector<Launch> queued;
thread_local std::vector<ncclComm*> created;  // in this group

ncclResult_t launch(const Launch& made) {
  ++calls;
  if (depth > 0) {
    queued.push_back(made);
  } else {
    made.enqueue();
  }
  return 0;
}

void launch_all(const std::vector<Launch>& launches) {
  for (const Launch& each : launches) each.enqueue();
}

// Of a nonblocking communicator a thread launches what a group had, some time after its end.
ncclResult_t launch_group(std::vector<Launch> launches) {
  if (launches.empty() || launches.front().comm->blocking) {
    launch_all(launches);
    return 0;
  }
  ncclComm* const comm = launches.front().comm;
  ++comm->to_launch;
  std::thread([comm, launches = std::move(launches)] {
    usleep(5000);
    launch_all(launches);
    --comm->to_launch;
  }).detach();
  return duet::nccl::kInProgress;
}

struct Split {
  ncclComm* comm;
  int color, key;
  ncclComm** part;
};
thread_local std::vector<Split> splits;

void make_part(const Split& of) {
  ncclComm& comm = *of.comm;
  const int number = ++comm.splits;
  while (comm.shared->splitting < number * comm.ranks) usleep(20);
  int rank = 0, ranks = 0;
  for (int peer = 0; peer < comm.ranks; ++peer) {
    if (comm.shared->colors[peer] != of.color) continue;
    ++ranks;
    if (comm.shared->keys[peer] < of.key) ++rank;
  }
  const std::string name =
      comm.name + "-" + std::to_string(number) + "-" + std::to_string(of.color);
  *of.part = of.color < 0 ? nullptr : new ncclComm(name, rank, ranks);
  if (*of.part != nullptr) {
    (*of.part)->device = comm.device;
    (*of.part)->join();
  }
  ++comm.shared->split;
}

// Each step for all before the next.
void make_splits(const std::vector<Split>& made) {
  for (const Split& each : made) {
    const int before = each.comm->splits * each.comm->ranks;
    while (each.comm->shared->split < before) usleep(20);
    each.comm->shared->colors[each.comm->rank] = each.color;
    each.comm->shared->keys[each.comm->rank] = each.key;
    ++each.comm->shared->splitting;
  }
  for (const Split& each : made) make_part(each);
  for (const Split& each : made) {
    if (*each.part != nullptr) (*each.part)->wait_for_all();
  }
}

// As the real NCCL, whose functions ask by the public one, for which programs may have another.
ncclResult_t ensure_ready(ncclComm_t comm) {
  ncclResult_t state = 0;
  const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
  if (asked != 0) return asked;
  return state == duet::nccl::kInProgress ? duet::nccl::kInvalidArgument : state;
}

// Of a nonblocking one ncclCommGetAsyncError tells when all ranks have come.
ncclResult_t create(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                    const duet::nccl::Config* config) {
  *comm = new ncclComm(id.bytes, rank, ranks);
  (*comm)->blocking = !is_nonblocking(config);
  if (depth > 0 && !is_nonblocking(config)) {
    created.push_back(*comm);
    return 0;
  }
  (*comm)->join();
  if (is_nonblocking(config)) return duet::nccl::kInProgress;
  (*comm)->wait_for_all();
  return 0;
}

ncclResult_t all_gather(const void* send, void* receive, std::size_t count, int type,
                        ncclComm_t comm, void* stream) {
  if (comm->revoked) return duet::nccl::kInvalidUsage;
  if (type != duet::nccl::kUint8 || count > kMostBytes) {
    ++calls;
    last_error = "an argument of ncclAllGather";
    if (depth > 0) group_error = duet::nccl::kInvalidArgument;
    return duet::nccl::kInvalidArgument;
  }
  return launch({comm, [=] { gather(*comm, send, receive, count); }, stream});
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22899;
  return 0;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int count = 0;
  *id = {};
  std::snprintf(id->bytes, sizeof id->bytes, "/fake-nccl-%d-%d", getpid(), count++);
  return 0;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return create(comm, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part,
                           duet::nccl::Config*) {
  if (const ncclResult_t ready = ensure_ready(comm)) return ready;
  if (depth > 0) {
    splits.push_back({comm, color, key, part});
  } else {
    make_splits({{comm, color, key, part}});
  }
  return 0;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    duet::nccl::Config* config) {
  return create(comm, ranks, id, rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  ncclUniqueId id{};
  ncclGetUniqueId(&id);
  for (int rank = 0; rank < count; ++rank) {
    comms[rank] = new ncclComm(id.bytes, rank, count);
    comms[rank]->device = devices == nullptr ? rank : devices[rank];
    comms[rank]->join();
  }
  comms[0]->wait_for_all();
  return 0;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* part,
                            duet::nccl::Config*, int) {
  if (const ncclResult_t ready = ensure_ready(comm)) return ready;
  const std::string name = comm->name + "-shrunk-" + std::to_string(excluded[0]) + "-" +
                           std::to_string(comm->shrinks[excluded[0]]++);
  const auto before =
      std::count_if(excluded, excluded + count, [comm](int rank) { return rank < comm->rank; });
  *part = new ncclComm(name, comm->rank - static_cast<int>(before), comm->ranks - count);
  (*part)->join();
  (*part)->wait_for_all();
  return 0;
}

// Work that is enqueued is no affair of the fake's.
ncclResult_t ncclCommFinalize(ncclComm_t comm) { return ensure_ready(comm); }

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  *device = comm->device;
  return ensure_ready(comm);
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  *count = comm->ranks;
  return ensure_ready(comm);
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ensure_ready(comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return 0;
}

// Ends calls that wait for other ranks.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  for (comm->aborted = true; comm->running > 0;) usleep(20);
  delete comm;
  return 0;
}

// Nothing of the fake's waits where programs under test revoke.
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  if (flags != 0) return duet::nccl::kInvalidArgument;
  comm->revoked = true;
  return ensure_ready(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const bool created = comm->shared->present == comm->ranks;
  *error = created && comm->to_launch == 0 ? 0 : duet::nccl::kInProgress;
  if (created) shm_unlink(comm->name.c_str());
  return 0;
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return 0;
}

ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return 0;
  if (group_error != 0) {  // then nothing of it is made
    queued.clear();
    return std::exchange(group_error, 0);
  }
  const ncclResult_t launched = launch_group(std::exchange(queued, {}));
  for (ncclComm* each : created) each->join();
  for (const ncclComm* each : created) each->wait_for_all();
  created.clear();
  make_splits(splits);
  splits.clear();
  return launched;
}

ncclResult_t ncclGroupSimulateEnd(void*) {
  if (--depth == 0) queued.clear();
  return 0;
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, int type,
                           ncclComm_t comm, void* stream) {
  return all_gather(send, receive, count, type, comm, stream);
}

ncclResult_t ncclSend(const void* send, std::size_t count, int, int peer, ncclComm_t comm,
                      void* stream) {
  if (count > duet::nccl::kMostOfMessage) return duet::nccl::kInvalidArgument;
  return launch({comm, [=] { send_message(*comm, send, count, peer); }, stream});
}

ncclResult_t ncclRecv(void* receive, std::size_t count, int, int peer, ncclComm_t comm,
                      void* stream) {
  if (count > duet::nccl::kMostOfMessage) return duet::nccl::kInvalidArgument;
  return launch({comm, [=] { receive_message(*comm, receive, count, peer); }, stream});
}

// Programs under test expect that both are taken over.
ncclResult_t ncclReduceScatter(const void*, void*, std::size_t, int, int, ncclComm_t, void*) {
  return duet::nccl::kInvalidUsage;
}

ncclResult_t ncclAllReduce(const void*, void*, std::size_t, int, int, ncclComm_t, void*) {
  return duet::nccl::kInvalidUsage;
}

// Nothing is sent: programs under test look at the order of these calls and others.
ncclResult_t ncclPutSignal(const void*, std::size_t count, int type, int peer, void*,
                           std::size_t offset, int signal, int context, unsigned flags, ncclComm_t,
                           void* stream) {
  const bool same = count == 1 && type == 2 && peer == 3 && offset == 4 && signal == 5 &&
                    context == 6 && flags == 7 && stream != nullptr;
  return same ? 0 : duet::nccl::kInvalidArgument;
}

ncclResult_t ncclSignal(int peer, int signal, int context, unsigned flags, ncclComm_t, void*) {
  return peer == 1 && signal == 2 && context == 3 && flags == 4 ? 0 : duet::nccl::kInvalidArgument;
}

ncclResult_t ncclWaitSignal(int count, void*, ncclComm_t, void*) {
  return count == 1 ? 0 : duet::nccl::kInvalidArgument;
}

ncclResult_t ncclAllGatherConfig(const void* send, void* receive, std::size_t count, int type,
                                 ncclComm_t comm, void* stream,
                                 const duet::nccl::CallConfig* config) {
  if (config != nullptr && config->profiler_tag != 42) return duet::nccl::kInvalidArgument;
  return all_gather(send, receive, count, type, comm, stream);
}

// As ncclPutSignal.
ncclResult_t ncclScatterConfig(const void*, void*, std::size_t count, int type, int root,
                               ncclComm_t, void*, const duet::nccl::CallConfig* config) {
  const bool same = count == 1 && type == 2 && root == 3 && config->profiler_tag == 42;
  return same ? 0 : duet::nccl::kInvalidArgument;
}

// Windows are not to be had, which in a group is an error of the group.
ncclResult_t ncclCommWindowRegister(ncclComm_t, void*, std::size_t, duet::nccl::Window*, int) {
  if (depth > 0) group_error = duet::nccl::kInvalidUsage;
  return duet::nccl::kInvalidUsage;
}

int fake_nccl_calls() { return calls; }

// 0 if every argument has arrived as nccl_user.cc passes it.
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, int type, int operation,
                        int root, ncclComm_t comm, void* stream) {
  const auto number = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  const bool same = number(send) == 1 && number(receive) == 2 && count == 3 && type == 4 &&
                    operation == 5 && root == 6 && number(comm) == 7 && number(stream) == 8;
  return same ? 0 : 3;
}

ncclTeam ncclTeamWorld(ncclComm_t) { return {11, 12, 13}; }

const char* ncclGetLastError(ncclComm_t) { return last_error; }

const char* ncclGetErrorString(ncclResult_t) { return "of the fake"; }

}  // extern "C"
