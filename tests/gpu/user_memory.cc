// All-gathers and all-reduces in GPU memory of the program's own: user_memory KIND ENGINE [PORT].
// KIND is malloc (cudaMalloc), segments (mapped one by one, to be shared by file descriptors) or
// pool (cudaMallocAsync, which other processes cannot map). Prints the algorithms that were used.
// The exit code is 77 without a GPU.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "communicator/communicator.h"

namespace {

constexpr std::size_t kOffset = 256;  // of the buffers in their allocations

void require(cudaError_t result) {
  if (result != cudaSuccess) throw duet::Error(cudaGetErrorString(result));
}
void require(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) throw duet::Error(std::string(call) + " failed");
}

template <typename Function>
Function driver(const char* name, unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  require(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found));
  if (address == nullptr) throw duet::Error(std::string(name) + " is not there");
  return reinterpret_cast<Function>(address);
}

// Adjacent segments of the smallest size, as allocators that grow make them. Never freed.
void* make_segments(std::size_t bytes) {
  int device = 0, devices = 0;
  require(cudaGetDevice(&device));
  require(cudaGetDeviceCount(&devices));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t grain = 0;
  require(driver<PFN_cuMemGetAllocationGranularity_v10020>("cuMemGetAllocationGranularity", 10020)(
              &grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");
  const std::size_t size = (bytes + grain - 1) / grain * grain;
  CUdeviceptr base = 0;
  require(
      driver<PFN_cuMemAddressReserve_v10020>("cuMemAddressReserve", 10020)(&base, size, 0, 0, 0),
      "cuMemAddressReserve");
  for (std::size_t at = 0; at < size; at += grain) {
    CUmemGenericAllocationHandle handle = 0;
    require(driver<PFN_cuMemCreate_v10020>("cuMemCreate", 10020)(&handle, grain, &properties, 0),
            "cuMemCreate");
    require(driver<PFN_cuMemMap_v10020>("cuMemMap", 10020)(base + at, grain, 0, handle, 0),
            "cuMemMap");
  }
  std::vector<CUmemAccessDesc> access;
  for (int i = 0; i < devices; ++i) {
    access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, i}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  }
  require(driver<PFN_cuMemSetAccess_v10020>("cuMemSetAccess", 10020)(base, size, access.data(),
                                                                     access.size()),
          "cuMemSetAccess");
  return reinterpret_cast<void*>(base);
}

// Memory of a kind. Never freed.
char* make_memory(const std::string& kind, std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  if (kind == "malloc") {
    require(cudaMalloc(&memory, bytes + kOffset));
  } else if (kind == "pool") {
    require(cudaMallocAsync(&memory, bytes + kOffset, stream));
  } else if (kind == "segments") {
    memory = make_segments(bytes + kOffset);
  } else {
    throw duet::UsageError("expected malloc, segments or pool, not '" + kind + "'");
  }
  return static_cast<char*>(memory) + kOffset;
}

// Element i of the data that a rank sends.
std::int32_t sent(std::uint64_t i, int rank) {
  return static_cast<std::int32_t>(i % 1000) + 7 * rank;
}

std::int32_t expected(const duet::Collective& c, std::uint64_t i, int ranks) {
  if (c.kind == duet::CollectiveKind::all_gather) {
    return sent(i % c.count, static_cast<int>(i / c.count));
  }
  std::int32_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += sent(i, rank);
  return sum;
}

void run(duet::LocalRank& rank, const std::string& kind, const duet::Collective& c) {
  require(cudaSetDevice(rank.device().info().ordinal));
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const bool gathers = c.kind == duet::CollectiveKind::all_gather;
  std::vector<std::int32_t> mine(c.count),
      all(gathers ? c.count * static_cast<std::uint64_t>(rank.size()) : c.count);
  for (std::uint64_t i = 0; i < c.count; ++i) mine[i] = sent(i, rank.index());
  char* const send = make_memory(kind, 4 * mine.size(), stream);
  char* const recv = make_memory(kind, 4 * all.size(), stream);
  duet::CollectiveCall call = rank.plan(c, send, recv);
  require(cudaMemcpyAsync(send, mine.data(), 4 * mine.size(), cudaMemcpyDefault, stream));
  for (int i = 0; i < 3; ++i) call.enqueue(stream);
  require(cudaMemcpyAsync(all.data(), recv, 4 * all.size(), cudaMemcpyDefault, stream));
  require(cudaStreamSynchronize(stream));
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    if (all[i] != expected(c, i, rank.size())) throw duet::Mismatch("a wrong element");
  }
  if (rank.index() == 0) {
    std::printf("%s %s: %s\n", kind.c_str(), std::string(name(c.kind)).c_str(),
                call.algorithm().c_str());
  }
  rank.retire(std::move(call));
}

}  // namespace

int main(int count, char** arguments) try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 77;
  if (count < 3) throw duet::UsageError("expected KIND ENGINE [PORT]");
  duet::CommunicatorOptions options;
  options.engine = arguments[2];
  if (count > 3) options.port = std::atoi(arguments[3]);
  duet::Communicator communicator(options);
  for (const auto kind : {duet::CollectiveKind::all_gather, duet::CollectiveKind::all_reduce}) {
    duet::Collective c;
    c.kind = kind;
    c.dtype = duet::DType::int32;
    c.count = 1500000;
    communicator.each([&](duet::LocalRank& rank) { run(rank, arguments[1], c); });
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "user_memory: %s\n", error.what());
  return 1;
}
