// What the stand-in offers beside HIP's own interface: kernels that run on the host, and the rules
// that the calls of one file and of another check.
//
// DUET_STANDIN in the environment changes the machine that it pretends to be, by words with commas:
//   gpus=N     N devices (4)
//   arch=NAME  the devices' architecture (gfx942)
//   no-peers   no device reaches another one's memory
//   no-gemm    hipBLASLt's heuristic finds no solution
//   no-smi     neither AMD SMI nor ROCm SMI starts; no-amd-smi: AMD SMI does not
//   amd-smi=N  AMD SMI's version (26)
//   rccl=X.Y.Z RCCL's version (2.22.3)
//   no-sdma    ROCr names no engines
//   no-advice  ROCr recommends no engines: it is older than ROCm 7
//   sdma-fails ROCr takes no copies; waiting-sdma-fails: none that wait for another one
//   no-queues  ROCr makes no queues
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include "fake_gpu/core/memory.h"
#include "fake_gpu/core/streams.h"
#include "hip/hip_runtime_api.h"

namespace fake_gpu {

inline constexpr double kDeadlineSeconds = 120;  // of waits for a whole device

int device_count();
bool has_peers();
// The word of DUET_STANDIN that begins so; "" if there is none.
std::string setting(const std::string& word);
bool is_set(const char* word);  // whether DUET_STANDIN has the word
const std::string& architecture();
int current_device();
bool peer_enabled(int from, int to);

// What a program has made and not given back.
struct Live {
  std::size_t ranges = 0, streams = 0, events = 0, graphs = 0, signals = 0;
  bool operator==(const Live& other) const {
    return ranges == other.ranges && streams == other.streams && events == other.events &&
           graphs == other.graphs && signals == other.signals;
  }
  bool operator!=(const Live& other) const { return !(*this == other); }
};
Live live();
std::atomic<std::size_t>& live_signals();  // ROCr's
std::atomic<bool>& engines_pause();        // begin no copy while it is true

// Waits for words that streams were given, each of them a kernel that polls.
std::size_t stream_waits();

// Keeps an error for hipGetLastError().
hipError_t result(hipError_t error);

// Whether engines and compute units of the device address these bytes: its own memory, that of
// peers to which it has enabled access, the runtime's host memory.
bool reaches(int device, const void* data, std::size_t bytes);

// Whether work of the device that already runs sees what other devices write there. Of plain device
// memory its caches may keep old contents.
bool is_coherent(const void* data);

// Ends the process as a GPU does whose kernel accesses memory that it may not.
void require_reach(int device, const void* data, std::size_t bytes, const char* what);

// Ends the process where a kernel polls memory in which it may never see the awaited value.
void require_coherent(const void* data, const char* what);

// The stream for a call that enqueues: hipErrorInvalidHandle unless it is of the current device.
hipError_t find_stream(hipStream_t& stream);

// Enqueues a kernel's host version on a stream of the current device; a capture records it.
hipError_t launch(hipStream_t stream, std::function<void(int device)> kernel);

}  // namespace fake_gpu

struct ihipStream_t : fake_gpu::Stream {
  using Stream::Stream;
};
struct ihipEvent_t : fake_gpu::Event {
  ihipEvent_t(int of, unsigned with) : device(of), flags(with) {}
  const int device;
  const unsigned flags;
};
struct ihipGraph {
  std::shared_ptr<fake_gpu::Graph> graph;
};
struct hipGraphExec {
  std::shared_ptr<fake_gpu::Graph> graph;
  int device = 0;
};
