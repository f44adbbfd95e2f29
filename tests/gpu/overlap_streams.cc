// All-gathers beside copies on a program's own CUDA stream: enqueued, and captured by CUDA's own
// calls and launched a hundred times. Exit 77 where there is no GPU.
#include <cuda_runtime.h>

#include <cstdio>
#include <string>
#include <vector>

#include "communicator/communicator.h"
#include "runtime/overlap.h"

namespace {

constexpr std::uint64_t kCount = 3 << 20;  // bytes of each rank
constexpr int kLaunches = 100;

void require(cudaError_t result) {
  if (result != cudaSuccess) throw duet::Error(cudaGetErrorString(result));
}

char* allocate(std::uint64_t bytes) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, bytes));
  return static_cast<char*>(memory);
}

// The buffers exist until the program ends.
struct Buffers {
  explicit Buffers(int ranks) : all(kCount * static_cast<std::uint64_t>(ranks)) {}
  std::uint64_t all;
  char *send = allocate(kCount), *recv = allocate(all), *output = allocate(kCount);
  char* seen = allocate(all + kCount);
};

int value(int round, int rank) { return (7 * round + rank) % 100; }

void check(const Buffers& own, int round, duet::LocalRank& rank) {
  std::vector<char> found(own.all + kCount);
  require(cudaMemcpy(found.data(), own.seen, found.size(), cudaMemcpyDefault));
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    const int from = i < own.all ? static_cast<int>(i / kCount) : rank.index();
    if (found[i] != value(round, from)) {
      throw duet::Mismatch("a wrong byte in round " + std::to_string(round));
    }
  }
}

void run(duet::LocalRank& rank) {
  require(cudaSetDevice(rank.device().info().ordinal));
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const Buffers own(rank.size());
  duet::Collective collective;
  collective.dtype = duet::DType::int8;
  collective.count = kCount;
  duet::CollectiveCall call = rank.plan(collective, own.send, own.recv);
  duet::Overlap overlap(rank);
  // What follows the overlap on the stream copies both results to where they are checked.
  const auto step = [&] {
    overlap.enqueue(stream, call, [&](duet::Stream& chosen) {
      require(cudaMemcpyAsync(own.output, own.send, kCount, cudaMemcpyDefault,
                              static_cast<cudaStream_t>(chosen.native())));
    });
    require(cudaMemcpyAsync(own.seen, own.recv, own.all, cudaMemcpyDefault, stream));
    require(cudaMemcpyAsync(own.seen + own.all, own.output, kCount, cudaMemcpyDefault, stream));
  };
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  step();
  cudaGraph_t captured = nullptr;
  require(cudaStreamEndCapture(stream, &captured));
  cudaGraphExec_t graph = nullptr;
  require(cudaGraphInstantiateWithFlags(&graph, captured, 0));
  for (int round = 0; round < kLaunches; ++round) {
    require(cudaMemsetAsync(own.send, value(round, rank.index()), kCount, stream));
    if (round % 10 == 5) {
      step();
    } else {
      require(cudaGraphLaunch(graph, stream));
    }
    if (round % 7 != 0) continue;
    require(cudaStreamSynchronize(stream));
    check(own, round, rank);
  }
  require(cudaStreamSynchronize(stream));
  check(own, kLaunches - 1, rank);
  if (rank.index() == 0) std::printf("%d ranks: %s\n", rank.size(), call.algorithm().c_str());
  require(cudaGraphExecDestroy(graph));
  require(cudaGraphDestroy(captured));
  rank.retire(std::move(call));
}

}  // namespace

int main(int count, char** arguments) try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: needs an NVIDIA GPU");
    return 77;
  }
  duet::Communicator communicator({"cuda", count > 1 ? arguments[1] : "dma"});
  communicator.each(run);
} catch (const std::exception& error) {
  std::fprintf(stderr, "overlap_streams: %s\n", error.what());
  return 1;
}
