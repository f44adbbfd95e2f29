// NVSHMEM's side of calls.h. A file that meets its headers includes no header of the device
// interface: the names of folders in both are alike.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstring>

#include "collectives/nvshmem/library.h"
#include "collectives/nvshmem/packets.h"
#include "device/gpu/system_words.h"

namespace duet::nvshmem {
namespace {

constexpr int kThreads = 512;
constexpr int kMostBlocks = 64;

const char* last_error = "";

static_assert(sizeof(nvshmemx_uniqueid_t) == kIdBytes);

int unique_id(void* id) {
  nvshmemx_uniqueid_t made = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (nvshmemx_get_uniqueid(&made) != 0) return failed("nvshmemx_get_uniqueid");
  std::memcpy(id, &made, sizeof made);
  return 0;
}

// NVSHMEM is initialised once in a process, and never ended: that would wait for all PEs.
int init(const void* id, int pe, int pes) {
  static bool done = false;
  if (!done) {
    nvshmemx_uniqueid_t given = NVSHMEMX_UNIQUEID_INITIALIZER;
    std::memcpy(&given, id, sizeof given);
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (nvshmemx_set_attr_uniqueid_args(pe, pes, &given, &attributes) != 0) {
      return failed("nvshmemx_set_attr_uniqueid_args");
    }
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
      return failed("nvshmemx_init_attr");
    }
    done = true;
  }
  const bool as_asked = nvshmem_my_pe() == pe && nvshmem_n_pes() == pes;
  return as_asked ? 0 : failed("it was initialised with another number of PEs");
}

int launched() {
  const cudaError_t result = cudaGetLastError();
  return result == cudaSuccess ? 0 : failed(cudaGetErrorString(result));
}

int sync_all(int, void* stream) {
  nvshmemx_sync_all_on_stream(static_cast<cudaStream_t>(stream));
  return launched();
}

int all_to_all(const AllToAllCall& call, void* stream) {
  const int result = nvshmemx_alltoallmem_on_stream(NVSHMEM_TEAM_WORLD, call.recv, call.send,
                                                    call.chunk, static_cast<cudaStream_t>(stream));
  return result == 0 ? launched() : failed("nvshmemx_alltoallmem_on_stream");
}

int put_parts(const PutCall& call, void* native) {
  auto* const stream = static_cast<cudaStream_t>(native);
  for (int step = 1; step <= call.pes; ++step) {
    const int to = (call.pe + step) % call.pes;
    const Part& part = call.parts[to];
    if (part.bytes == 0) continue;
    nvshmemx_putmem_on_stream(call.recv + part.to, call.send + part.from, part.bytes, to, stream);
  }
  nvshmemx_barrier_all_on_stream(stream);
  return launched();
}

// The block of a kernel, all of whose threads make each call.
class DeviceBlock {
 public:
  __device__ DeviceBlock(int pes) : pes_(pes) {}

  __device__ void signal_all(std::uint64_t* word, std::uint64_t value) {
    for (int pe = thread(); pe < pes_; pe += kThreads) {
      nvshmemx_signal_op(word, value, NVSHMEM_SIGNAL_SET, pe);
    }
  }
  __device__ void wait_all(const std::uint64_t* words, std::uint64_t value) {
    for (int pe = thread(); pe < pes_; pe += kThreads) {
      while (cuda::load_acquire(words + pe) < value) {
      }
    }
    __syncthreads();
  }
  __device__ void put(std::byte* there, const std::byte* from, std::size_t bytes, int pe) {
    nvshmemx_putmem_nbi_block(there, from, bytes, pe);
  }
  __device__ void put_signal(std::byte* there, const std::byte* from, std::size_t bytes,
                             std::uint64_t* word, int pe) {
    nvshmemx_putmem_signal_nbi_block(there, from, bytes, word, 1, NVSHMEM_SIGNAL_ADD, pe);
  }
  __device__ void quiet() {
    __syncthreads();
    if (thread() == 0) nvshmem_quiet();
    __syncthreads();
  }
  // Only threads of this device use the counter.
  __device__ bool last(std::uint64_t* ended, int blocks) {
    __shared__ bool is_last;
    if (thread() == 0) {
      __threadfence();
      auto* const counter = reinterpret_cast<unsigned long long*>(ended);
      is_last = atomicAdd(counter, 1ULL) + 1 == static_cast<unsigned long long>(blocks);
      if (is_last) *ended = 0;
      __threadfence();
    }
    __syncthreads();
    return is_last;
  }
  __device__ void set(std::uint64_t* word, std::uint64_t value) {
    if (thread() == 0) *word = value;
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }
  int pes_;
};

__global__ void __launch_bounds__(kThreads) packets_kernel(PacketCall call) {
  DeviceBlock block(call.all.pes);
  exchange_packets(call, block, static_cast<int>(blockIdx.x));
}

int put_packets(const PacketCall& call, void* stream) {
  packets_kernel<<<static_cast<unsigned>(call.blocks), kThreads, 0,
                   static_cast<cudaStream_t>(stream)>>>(call);
  return launched();
}

}  // namespace

int failed(const char* why) {
  last_error = why;
  return 1;
}

const Calls& library_calls() {
  static const Calls calls = [] {
    Calls all;
    all.error = [] { return last_error; };
    all.unique_id = unique_id;
    all.init = init;
    all.allocate = [](int, std::size_t bytes) { return nvshmem_align(256, bytes); };
    all.release = [](int, void* memory) { nvshmem_free(memory); };
    all.sync_all = sync_all;
    all.all_to_all = all_to_all;
    all.put_parts = put_parts;
    all.put_packets = put_packets;
    all.most_blocks = kMostBlocks;
    return all;
  }();
  return calls;
}

}  // namespace duet::nvshmem
