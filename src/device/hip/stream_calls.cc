#include <memory>

#include "core/error.h"
#include "device/gpu/stream.h"
#include "device/gpu/vendor_calls.h"

namespace duet::hip {
namespace {

// Some versions of ROCm do not report an error during a capture but execute the operation at once.
// A wait would then never end.
void require_not_captured(hipStream_t stream) {
  if (is_captured(stream)) throw Unavailable("HIP does not capture memory operations of streams");
}

}  // namespace

void stream_write(hipStream_t stream, void* word, std::uint64_t value) {
  require_not_captured(stream);
  DUET_GPU_CHECK(hipStreamWriteValue64(stream, word, value, 0));
}

void stream_wait(hipStream_t stream, void* word, std::uint64_t value) {
  require_not_captured(stream);
  constexpr std::uint64_t all_bits = ~0ull;
  DUET_GPU_CHECK(hipStreamWaitValue64(stream, word, value, hipStreamWaitValueGte, all_bits));
}

// Enqueues the operations one by one: HIP 5.2 has no batches of memory operations.
void stream_handshake(hipStream_t stream, const Handshake& handshake) {
  for (const Semaphore& semaphore : handshake.signals) stream_write(stream, semaphore.word.data, 1);
  for (const Semaphore& semaphore : handshake.waits) stream_wait(stream, semaphore.word.data, 1);
  for (const Semaphore& semaphore : handshake.waits) stream_write(stream, semaphore.word.data, 0);
}

int device_of(hipStream_t stream) { return hipGetStreamDeviceId(stream); }

// HIP 5.2 has no hipLaunchHostFunc. Its older callback has the stream and its status as further
// parameters.
void stream_call(hipStream_t stream, void (*function)(void*), void* data) {
  struct Call {
    void (*function)(void*);
    void* data;
  };
  auto call = std::make_unique<Call>(Call{function, data});
  DUET_GPU_CHECK(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void* kept) {
        const std::unique_ptr<Call> held(static_cast<Call*>(kept));
        held->function(held->data);
      },
      call.get(), 0));
  static_cast<void>(call.release());  // owned by the stream from here on
}

// What AMD's runtime replays slowly has not been measured.
void prepare_graph(hipGraph_t) {}

}  // namespace duet::hip
