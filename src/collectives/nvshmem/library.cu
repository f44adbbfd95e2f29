// NVSHMEM's side of calls.h. A file that meets its headers includes no header of the device
// interface: the names of folders in both are alike.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstring>

#include "collectives/nvshmem/library.h"

namespace duet::nvshmem {
namespace {

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
    return all;
  }();
  return calls;
}

}  // namespace duet::nvshmem
