// An all-gather of bf16 between buffers of cudaMalloc on a CUDA stream of one's own: cuda_streams
// [PORT]. Alone over all GPUs, or a process a GPU with MASTER_ADDR, RANK, WORLD_SIZE, LOCAL_RANK.
#include <cuda_runtime.h>
#include <duet/communicator/communicator.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint64_t kCount = 1 << 20;  // elements of each rank

void require(cudaError_t result) {
  if (result != cudaSuccess) throw duet::Error(cudaGetErrorString(result));
}

void gather(duet::LocalRank& rank) {
  require(cudaSetDevice(rank.device().info().ordinal));
  duet::Collective collective;
  collective.kind = duet::CollectiveKind::all_gather;
  collective.dtype = duet::DType::bf16;
  collective.count = kCount;
  std::vector<std::uint16_t> mine(kCount, static_cast<std::uint16_t>(rank.index() + 1));
  std::vector<std::uint16_t> all(kCount * static_cast<std::uint64_t>(rank.size()));

  void *send = nullptr, *recv = nullptr;
  cudaStream_t stream = nullptr;
  require(cudaMalloc(&send, 2 * mine.size()));
  require(cudaMalloc(&recv, 2 * all.size()));
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  duet::CollectiveCall call = rank.plan(collective, send, recv);

  require(cudaMemcpyAsync(send, mine.data(), 2 * mine.size(), cudaMemcpyDefault, stream));
  call.enqueue(stream);
  require(cudaMemcpyAsync(all.data(), recv, 2 * all.size(), cudaMemcpyDefault, stream));
  require(cudaStreamSynchronize(stream));
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    if (all[i] != i / kCount + 1) throw duet::Mismatch("a wrong element");
  }
  if (rank.index() == 0) std::printf("%d GPUs: %s\n", rank.size(), call.algorithm().c_str());
  rank.retire(std::move(call));  // before its buffers go
  require(cudaStreamDestroy(stream));
  require(cudaFree(send));
  require(cudaFree(recv));
}

}  // namespace

int main(int count, char** arguments) try {
  duet::CommunicatorOptions options;
  if (count > 1) options.port = std::atoi(arguments[1]);  // where MASTER_PORT is the launcher's
  duet::Communicator(options).each(gather);
} catch (const std::exception& error) {
  std::fprintf(stderr, "cuda_streams: %s\n", error.what());
  return 1;
}
