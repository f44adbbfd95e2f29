// Streams, what is enqueued on them, events and graphs.
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "fake_gpu/hip/runtime.h"

namespace fake_gpu {
namespace {

struct Made {
  std::atomic<std::size_t> streams{0}, events{0}, graphs{0}, signals{0}, stream_waits{0};
};
Made made;

// Whether a copy may have this address as one side: bytes in one live range, or memory of the host
// that the runtime does not know. Freed memory is neither.
bool can_copy(const void* data, std::size_t bytes) {
  const std::optional<Range> range = memory().find(data);
  if (!range) return data != nullptr && !memory().is_own_address(data);
  return range->has(data, bytes);
}

void require_live(const void* data, std::size_t bytes, const char* what) {
  if (can_copy(data, bytes)) return;
  require_reach(-1, data, bytes, what);  // of no device: ends the process
}

bool is_memory_of(int device, const void* data) {
  const std::optional<Range> range = memory().find(data);
  return range && range->device == device && range->kind != Kind::host;
}

// What cannot be captured makes a capture invalid.
hipError_t refuse_capture(hipStream_t stream) {
  const std::shared_ptr<Graph> graph = stream->capture().graph;
  if (graph == nullptr) return hipSuccess;
  graph->invalidate();
  return hipErrorStreamCaptureUnsupported;
}

hipError_t error_of(Misuse misuse) {
  switch (misuse) {
    case Misuse::invalidated:
      return hipErrorStreamCaptureInvalidated;
    case Misuse::unmatched:
      return hipErrorStreamCaptureUnmatched;
    case Misuse::unjoined:
      return hipErrorStreamCaptureUnjoined;
    case Misuse::isolation:
      break;
  }
  return hipErrorStreamCaptureIsolation;
}

template <typename Call>
hipError_t checked(const Call& call) {
  try {
    call();
    return hipSuccess;
  } catch (const CaptureError& error) {
    return error_of(error.misuse);
  }
}

hipError_t enqueue(hipStream_t stream, std::function<void()> work) {
  return checked([&] { stream->enqueue(std::move(work)); });
}

// For hipStreamDestroy.
hipError_t make_stream(hipStream_t* stream) {
  *stream = new ihipStream_t(current_device());
  ++made.streams;
  return hipSuccess;
}

hipStream_t default_stream() {
  static auto* const streams = new std::map<int, hipStream_t>;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  hipStream_t& stream = (*streams)[current_device()];
  if (stream == nullptr) stream = new ihipStream_t(current_device());
  return stream;
}

hipError_t check_word(hipStream_t stream, const void* word) {
  if (reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) != 0) {
    return hipErrorInvalidValue;
  }
  return reaches(stream->device, word, sizeof(std::uint64_t)) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t copy(void* to, const void* from, std::size_t bytes, hipStream_t stream) {
  if (bytes == 0) return hipSuccess;
  if (!can_copy(to, bytes) || !can_copy(from, bytes)) return hipErrorInvalidValue;
  return enqueue(stream, [to, from, bytes, device = stream->device] {
    require_live(to, bytes, "a copy's destination was freed");
    require_live(from, bytes, "a copy's source was freed");
    std::memcpy(to, from, bytes);
    memory().write_by(device, to, bytes);  // by a kernel, for all that its caller knows
  });
}

}  // namespace

Live live() { return {memory().ranges(), made.streams, made.events, made.graphs, made.signals}; }

std::atomic<std::size_t>& live_signals() { return made.signals; }

std::atomic<bool>& engines_pause() {
  static std::atomic<bool> pause{false};
  return pause;
}

std::size_t stream_waits() { return made.stream_waits; }

hipError_t find_stream(hipStream_t& stream) {
  if (stream == nullptr) stream = default_stream();
  return stream->device == current_device() ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t launch(hipStream_t stream, std::function<void(int device)> kernel) {
  const hipError_t found = find_stream(stream);
  if (found != hipSuccess) return result(found);
  return result(
      enqueue(stream, [kernel = std::move(kernel), device = stream->device] { kernel(device); }));
}

// Returns from the calling function where an expression is an error.
#define FAKE_GPU_TRY(expression)                     \
  do {                                               \
    const hipError_t failed = (expression);          \
    if (failed != hipSuccess) return result(failed); \
  } while (false)

extern "C" {

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  FAKE_GPU_TRY(find_stream(stream));
  if (kind != hipMemcpyDefault) return result(hipErrorInvalidValue);
  return result(copy(to, from, bytes, stream));
}

hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                              std::size_t bytes, hipStream_t stream) {
  FAKE_GPU_TRY(find_stream(stream));
  if (!is_memory_of(to_device, to) || !is_memory_of(from_device, from)) {
    return result(hipErrorInvalidValue);
  }
  return result(copy(to, from, bytes, stream));
}

hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
  FAKE_GPU_TRY(find_stream(stream));
  if (bytes == 0) return hipSuccess;
  if (!reaches(stream->device, to, bytes)) return result(hipErrorInvalidValue);
  return result(enqueue(stream, [to, value, bytes, device = stream->device] {
    require_reach(device, to, bytes, "a memset");
    std::memset(to, value, bytes);
    memory().write_by(device, to, bytes);
  }));
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  int least = 0, greatest = 0;
  FAKE_GPU_TRY(hipDeviceGetStreamPriorityRange(&least, &greatest));
  if (flags != hipStreamNonBlocking || priority > least || priority < greatest) {
    return result(hipErrorInvalidValue);
  }
  return make_stream(stream);
}

hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, std::uint32_t words,
                                        const std::uint32_t* mask) {
  int units = 0;
  FAKE_GPU_TRY(
      hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, current_device()));
  std::uint32_t any = 0;
  for (std::uint32_t i = 0; i < words; ++i) any |= mask[i];
  if (any == 0 || 32 * static_cast<int>(words) < units) return result(hipErrorInvalidValue);
  return make_stream(stream);
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  if (stream == nullptr) return result(hipErrorInvalidHandle);
  delete stream;
  --made.streams;
  return hipSuccess;
}

hipError_t hipStreamQuery(hipStream_t stream) {
  if (stream == nullptr) stream = default_stream();
  FAKE_GPU_TRY(refuse_capture(stream));
  if (!stream->idle()) return result(hipErrorNotReady);
  memory().release_to_system(stream->device);  // the host sees what it knows to be done
  return hipSuccess;
}

int hipGetStreamDeviceId(hipStream_t stream) {
  return stream == nullptr ? current_device() : stream->device;
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data,
                                unsigned flags) {
  FAKE_GPU_TRY(find_stream(stream));
  if (flags != 0) return result(hipErrorInvalidValue);
  FAKE_GPU_TRY(refuse_capture(stream));
  return result(enqueue(stream, [stream, callback, data] { callback(stream, hipSuccess, data); }));
}

hipError_t hipStreamWriteValue64(hipStream_t stream, void* word, std::uint64_t value,
                                 unsigned flags) {
  FAKE_GPU_TRY(find_stream(stream));
  if (flags != 0) return result(hipErrorInvalidValue);
  FAKE_GPU_TRY(refuse_capture(stream));
  FAKE_GPU_TRY(check_word(stream, word));
  return result(enqueue(stream, [word, value, device = stream->device] {
    require_reach(device, word, sizeof value, "a stream's write");
    memory().release_to_system(device);
    __atomic_store_n(static_cast<std::uint64_t*>(word), value, __ATOMIC_RELEASE);
  }));
}

hipError_t hipStreamWaitValue64(hipStream_t stream, void* word, std::uint64_t value, unsigned flags,
                                std::uint64_t mask) {
  FAKE_GPU_TRY(find_stream(stream));
  if (flags != hipStreamWaitValueGte) return result(hipErrorInvalidValue);
  FAKE_GPU_TRY(refuse_capture(stream));
  FAKE_GPU_TRY(check_word(stream, word));
  if (!is_coherent(word)) return result(hipErrorInvalidValue);
  ++made.stream_waits;
  stream->enqueue({}, [word, value, mask, device = stream->device] {
    require_reach(device, word, sizeof value, "a stream's wait");
    return (__atomic_load_n(static_cast<std::uint64_t*>(word), __ATOMIC_ACQUIRE) & mask) >= value;
  });
  return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  if ((flags & ~(hipEventDisableTiming | hipEventReleaseToSystem)) != 0) {
    return result(hipErrorInvalidValue);
  }
  *event = new ihipEvent_t(current_device(), flags);
  ++made.events;
  return hipSuccess;
}

hipError_t hipEventDestroy(hipEvent_t event) {
  if (event == nullptr) return result(hipErrorInvalidHandle);
  delete event;
  --made.events;
  return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  FAKE_GPU_TRY(find_stream(stream));
  if (event == nullptr || event->device != stream->device) return result(hipErrorInvalidHandle);
  const bool releases = (event->flags & hipEventReleaseToSystem) != 0;
  return result(checked([&] {
    event->record(*stream, [releases, device = stream->device] {
      if (releases) memory().release_to_system(device);
    });
  }));
}

hipError_t hipEventQuery(hipEvent_t event) {
  if (event == nullptr) return result(hipErrorInvalidHandle);
  if (event->captured()) return result(hipErrorCapturedEvent);
  if (event->last() == nullptr) return hipSuccess;
  if (!event->done()) return result(hipErrorNotReady);
  memory().release_to_system(event->device);
  return hipSuccess;
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end) {
  for (const hipEvent_t each : {begin, end}) {
    if (each == nullptr || each->captured() || each->last() == nullptr ||
        (each->flags & hipEventDisableTiming) != 0) {
      return result(hipErrorInvalidHandle);
    }
  }
  if (begin->device != end->device) return result(hipErrorInvalidHandle);
  if (!begin->done() || !end->done()) return result(hipErrorNotReady);
  *milliseconds = static_cast<float>(1e3 * (end->last()->seconds - begin->last()->seconds));
  return hipSuccess;
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  FAKE_GPU_TRY(find_stream(stream));
  if (event == nullptr || flags != 0) return result(hipErrorInvalidHandle);
  // Of streams of two devices, the one that waits sees what the other has written.
  return result(checked([&] {
    event->wait(*stream, [from = event->device, to = stream->device] {
      if (from != to) memory().release_to_system(from);
    });
  }));
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  if (stream == nullptr) return result(hipErrorStreamCaptureUnsupported);
  FAKE_GPU_TRY(find_stream(stream));
  if (mode != hipStreamCaptureModeRelaxed || stream->capture().graph != nullptr) {
    return result(hipErrorInvalidValue);
  }
  stream->begin_capture();
  return hipSuccess;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  *graph = nullptr;
  FAKE_GPU_TRY(find_stream(stream));
  if (stream->capture().graph == nullptr) return result(hipErrorInvalidValue);
  return result(checked([&] {
    *graph = new ihipGraph{stream->end_capture()};
    ++made.graphs;
  }));
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  const auto graph = stream == nullptr ? nullptr : stream->capture().graph;
  *status = graph == nullptr   ? hipStreamCaptureStatusNone
            : graph->invalid() ? hipStreamCaptureStatusInvalidated
                               : hipStreamCaptureStatusActive;
  return hipSuccess;
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count) {
  if (graph == nullptr || nodes != nullptr) return result(hipErrorInvalidValue);
  *count = graph->graph->size();
  return hipSuccess;
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph,
                                        unsigned long long flags) {
  if (graph == nullptr || flags != 0) return result(hipErrorInvalidValue);
  ++made.graphs;
  *exec = new hipGraphExec{graph->graph, current_device()};
  return hipSuccess;
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  FAKE_GPU_TRY(find_stream(stream));
  if (exec == nullptr || exec->device != stream->device) return result(hipErrorInvalidHandle);
  FAKE_GPU_TRY(refuse_capture(stream));
  exec->graph->launch(*stream);
  return hipSuccess;
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  if (graph == nullptr) return result(hipErrorInvalidValue);
  delete graph;
  --made.graphs;
  return hipSuccess;
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  if (exec == nullptr) return result(hipErrorInvalidValue);
  delete exec;
  --made.graphs;
  return hipSuccess;
}

}  // extern "C"

}  // namespace fake_gpu
