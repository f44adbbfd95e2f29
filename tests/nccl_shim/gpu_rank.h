// A rank with a GPU and a process of its own, whose calls NCCL makes, or the drop-in.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "collectives/nccl/library.h"

namespace duet::nccl_shim::testing {

constexpr int kMostGpuRanks = 4;

// Throws Error with CUDA's text.
void must_succeed(cudaError_t result, const char* call);

// How many GPUs there are, up to kMostGpuRanks, asked by a child: a process that has started CUDA
// must not fork.
int count_gpu_ranks();

// Throws Timeout, which names `what`, after 30 s.
void wait_until(const std::function<bool()>& met, const char* what);

double milliseconds_since(std::chrono::steady_clock::time_point begin);

// What ranks tell each other and the test, in memory that their processes share.
struct SharedByRanks {
  struct Outcome {
    double error_after = -1;  // ms from the first wait to the communicator's error; -1: none
    double abort_took = -1;   // ms
    bool right_data = true;   // of calls that have ended
    bool data_kept = false;   // of buffers that were filled after the abort
    std::array<char, 256> text{};
  };

  nccl::UniqueId id{};
  std::atomic<bool> has_id{false};
  std::atomic<int> arrived{0};
  std::array<std::atomic<bool>, kMostGpuRanks> has_called{};
  std::array<std::atomic<pid_t>, kMostGpuRanks> process{};
  std::array<Outcome, kMostGpuRanks> outcome{};
};

// What a rank calls, and with whose library.
struct CallKind {
  enum class Function { all_gather, reduce_scatter, all_reduce, exchange, captured_all_gather };
  std::string name;
  Function function;
  std::size_t part;                                           // bytes of each rank's part
  std::vector<std::pair<const char*, const char*>> settings;  // of the environment
  // What the drop-in says of the communicator if it takes these calls over; "": NCCL, without it.
  std::string said;
  bool lends = false;  // peers map the buffers

  bool by_nccl() const { return said.empty(); }
};

class GpuRank {
 public:
  // Creates a communicator of all ranks, and buffers.
  GpuRank(const CallKind& kind, int rank, int ranks, SharedByRanks& shared);

  // Fills the send buffer with the bytes of this call, clears the receive buffer and makes the
  // call, all on the stream. All ranks make the same calls. Returns the error of NCCL or the
  // drop-in.
  nccl::Result call();
  // Waits for all calls, then frees the buffers and allocates new ones. Not with a graph, which
  // would use the old ones.
  void replace_buffers();
  // What is enqueued after hold() starts with release(), behind which it needs no CPU: a process
  // that is stopped then does not hold it up.
  void hold();
  void release();
  void synchronise() const;
  bool has_ended() const;      // all calls so far
  nccl::Result error() const;  // of the communicator
  std::string last_error() const;
  bool data_are_right() const;  // of the last call, which has ended

  void abort();
  void fill(int value) const;  // the buffer that the last call received into
  bool holds(int value) const;

 private:
  nccl::Result enqueue();
  nccl::Result exchange();
  int value(int rank) const;  // of the bytes that the rank sends in the last call
  void allocate();
  void capture();

  const CallKind kind_;
  const int rank_, ranks_;
  nccl::Library library_;
  nccl::Comm communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  void *send_ = nullptr, *receive_ = nullptr;
  std::size_t send_bytes_, receive_bytes_;
  cudaGraphExec_t graph_ = nullptr;
  int calls_ = 0;
  std::atomic<bool> held_{false};
  cudaEvent_t let_go_ = nullptr;
};

}  // namespace duet::nccl_shim::testing
