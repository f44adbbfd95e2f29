#include "gpu_rank.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "core/module.h"

namespace duet::nccl_shim::testing {

using Function = CallKind::Function;

void must_succeed(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw Error(std::string(call) + ": " + cudaGetErrorString(result));
}

int count_gpu_ranks() {
  const pid_t child = fork();
  if (child < 0) throw Error("fork failed");
  if (child == 0) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    _exit(std::min(count, kMostGpuRanks));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

void wait_until(const std::function<bool()>& met, const char* what) {
  const auto begin = std::chrono::steady_clock::now();
  while (!met()) {
    if (milliseconds_since(begin) > 30e3) throw Timeout(std::string("30 s passed without ") + what);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

GpuRank::GpuRank(const CallKind& kind, int rank, int ranks, SharedByRanks& shared)
    : kind_(kind), rank_(rank), ranks_(ranks) {
  const std::size_t all = kind.part * static_cast<std::size_t>(ranks);
  const bool gathers =
      kind.function == Function::all_gather || kind.function == Function::captured_all_gather;
  send_bytes_ = gathers || kind.function == Function::exchange ? kind.part : all;
  receive_bytes_ = gathers || kind.function == Function::all_reduce ? all : kind.part;
  for (const auto& [name, value] : kind.settings) setenv(name, value, 1);
  library_ = nccl::library();
  if (!kind.by_nccl()) {
    library_ = nccl::with_drop_in(library_, own_file("nccl_shim", "libduet-nccl.so"));
  }
  must_succeed(cudaSetDevice(rank), "cudaSetDevice");
  must_succeed(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  if (rank == 0) {
    DUET_NCCL_CHECK(library_, get_unique_id(&shared.id));
    shared.has_id = true;
  }
  wait_until([&shared] { return shared.has_id.load(); }, "a unique id of rank 0");
  DUET_NCCL_CHECK(library_, comm_init(&communicator_, ranks, shared.id, rank));
  allocate();
  if (kind.function == Function::captured_all_gather) capture();
}

void GpuRank::allocate() {
  must_succeed(cudaMalloc(&send_, send_bytes_), "cudaMalloc");
  must_succeed(cudaMalloc(&receive_, receive_bytes_), "cudaMalloc");
}

// Of four ranks' bytes no sum carries.
int GpuRank::value(int rank) const { return 1 + (calls_ * 7 + rank) % 60; }

void GpuRank::replace_buffers() {
  synchronise();
  must_succeed(cudaFree(send_), "cudaFree");
  must_succeed(cudaFree(receive_), "cudaFree");
  allocate();
}

void GpuRank::capture() {
  cudaGraph_t graph = nullptr;
  must_succeed(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin capture");
  DUET_NCCL_CHECK(library_,
                  all_gather(send_, receive_, kind_.part, nccl::kUint8, communicator_, stream_));
  must_succeed(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  must_succeed(cudaGraphInstantiate(&graph_, graph, 0), "cudaGraphInstantiate");
}

nccl::Result GpuRank::call() {
  ++calls_;
  must_succeed(cudaMemsetAsync(send_, value(rank_), send_bytes_, stream_), "cudaMemsetAsync");
  must_succeed(cudaMemsetAsync(receive_, 0, receive_bytes_, stream_), "cudaMemsetAsync");
  return enqueue();
}

nccl::Result GpuRank::enqueue() {
  switch (kind_.function) {
    case Function::all_gather:
      return library_.all_gather(send_, receive_, kind_.part, nccl::kUint8, communicator_, stream_);
    case Function::reduce_scatter:
      return library_.reduce_scatter(send_, receive_, kind_.part / sizeof(int), nccl::kInt32,
                                     nccl::kSum, communicator_, stream_);
    case Function::all_reduce:
      return library_.all_reduce(send_, receive_, send_bytes_ / sizeof(int), nccl::kInt32,
                                 nccl::kSum, communicator_, stream_);
    case Function::exchange:
      return exchange();
    case Function::captured_all_gather:
      must_succeed(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
      return nccl::kSuccess;
  }
  throw BadArgument("a function that is not known");
}

// To the next rank, from the one before.
nccl::Result GpuRank::exchange() {
  const int next = (rank_ + 1) % ranks_, before = (rank_ + ranks_ - 1) % ranks_;
  DUET_NCCL_CHECK(library_, group_start());
  nccl::Result result =
      library_.send(send_, kind_.part, nccl::kUint8, next, communicator_, stream_);
  const nccl::Result received =
      library_.recv(receive_, kind_.part, nccl::kUint8, before, communicator_, stream_);
  if (result == nccl::kSuccess) result = received;
  const nccl::Result ended = library_.group_end();
  return result == nccl::kSuccess ? ended : result;
}

void GpuRank::hold() {
  held_ = true;
  const auto wait = [](void* held) {
    while (*static_cast<std::atomic<bool>*>(held)) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  };
  must_succeed(cudaLaunchHostFunc(stream_, wait, &held_), "cudaLaunchHostFunc");
  must_succeed(cudaEventCreateWithFlags(&let_go_, cudaEventDisableTiming),
               "cudaEventCreateWithFlags");
  must_succeed(cudaEventRecord(let_go_, stream_), "cudaEventRecord");
}

void GpuRank::release() {
  held_ = false;
  must_succeed(cudaEventSynchronize(let_go_), "cudaEventSynchronize");
  must_succeed(cudaEventDestroy(let_go_), "cudaEventDestroy");
}

void GpuRank::synchronise() const {
  must_succeed(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

bool GpuRank::has_ended() const {
  const cudaError_t result = cudaStreamQuery(stream_);
  if (result != cudaErrorNotReady) must_succeed(result, "cudaStreamQuery");
  return result == cudaSuccess;
}

nccl::Result GpuRank::error() const {
  nccl::Result error = nccl::kSuccess;
  const nccl::Result result = library_.comm_async_error(communicator_, &error);
  return result == nccl::kSuccess ? error : result;
}

std::string GpuRank::last_error() const {
  return library_.last_error != nullptr ? library_.last_error(communicator_) : "";
}

namespace {

std::vector<unsigned char> bytes_of(const void* memory, std::size_t bytes) {
  std::vector<unsigned char> copy(bytes);
  must_succeed(cudaMemcpy(copy.data(), memory, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return copy;
}

bool all_are(const unsigned char* begin, std::size_t bytes, int value) {
  return std::all_of(begin, begin + bytes, [value](unsigned char each) { return each == value; });
}

}  // namespace

bool GpuRank::data_are_right() const {
  const std::vector<unsigned char> received = bytes_of(receive_, receive_bytes_);
  const auto all = [&received](int value) {
    return all_are(received.data(), received.size(), value);
  };
  int sum = 0;
  for (int rank = 0; rank < ranks_; ++rank) sum += value(rank);
  switch (kind_.function) {
    case Function::reduce_scatter:
    case Function::all_reduce:
      return all(sum);
    case Function::exchange:
      return all(value((rank_ + ranks_ - 1) % ranks_));
    case Function::all_gather:
    case Function::captured_all_gather:
      break;
  }
  bool right = true;
  for (int from = 0; from < ranks_; ++from) {
    right = right && all_are(received.data() + static_cast<std::size_t>(from) * kind_.part,
                             kind_.part, value(from));
  }
  return right;
}

void GpuRank::abort() { DUET_NCCL_CHECK(library_, comm_abort(communicator_)); }

void GpuRank::fill(int value) const {
  must_succeed(cudaMemsetAsync(receive_, value, receive_bytes_, stream_), "cudaMemsetAsync");
  synchronise();
}

bool GpuRank::holds(int value) const {
  const std::vector<unsigned char> found = bytes_of(receive_, receive_bytes_);
  return all_are(found.data(), found.size(), value);
}

}  // namespace duet::nccl_shim::testing
