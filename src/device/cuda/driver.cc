#include "device/cuda/driver.h"

#include "device/gpu/vendor_calls.h"

namespace duet::cuda {
namespace {

struct Driver {
  DUET_DRIVER_FUNCTION(write, cuStreamWriteValue64, 11070);
  DUET_DRIVER_FUNCTION(wait, cuStreamWaitValue64, 11070);
  DUET_DRIVER_FUNCTION(batch, cuStreamBatchMemOp, 11070);
  DUET_DRIVER_FUNCTION(context_of, cuStreamGetCtx, 9020);
  DUET_DRIVER_FUNCTION(push, cuCtxPushCurrent, 4000);
  DUET_DRIVER_FUNCTION(pop, cuCtxPopCurrent, 4000);
  DUET_DRIVER_FUNCTION(current_device, cuCtxGetDevice, 2000);
  DUET_DRIVER_FUNCTION(error_string, cuGetErrorString, 6000);
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

CUdeviceptr address_of(void* word) { return reinterpret_cast<CUdeviceptr>(word); }

}  // namespace

const char* words_for(CUresult result) {
  const char* words = nullptr;
  driver().error_string(result, &words);
  return words != nullptr ? words : "unknown error";
}

void check_driver(CUresult result, const char* call, const char* place) {
  if (result == CUDA_SUCCESS) return;
  const std::string message = fmt::format("{}: {} (CUresult {}) at {}", call, words_for(result),
                                          static_cast<int>(result), place_in_source(place));
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) throw Unavailable(message);
  throw Error(message);
}

// The default flag fences the write: whoever sees the value sees the effects of the stream's
// earlier work.
void stream_write(cudaStream_t stream, void* word, std::uint64_t value) {
  DUET_DRIVER_CHECK(driver().write(stream, address_of(word), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

void stream_wait(cudaStream_t stream, void* word, std::uint64_t value) {
  DUET_DRIVER_CHECK(driver().wait(stream, address_of(word), value, CU_STREAM_WAIT_VALUE_GEQ));
}

namespace {

constexpr std::size_t kMostOperations = 192;  // per batch; the driver's limit is 256

// Collects memory operations for one call of the driver. It is on the stack, because enqueueing
// must not allocate.
class Batch {
 public:
  explicit Batch(cudaStream_t stream) : stream_(stream) {}

  void write(const Semaphore& semaphore, std::uint64_t value) {
    auto& operation = next().writeValue;
    operation.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operation.address = address_of(semaphore.word.data);
    operation.value64 = value;
    operation.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  }
  void wait(const Semaphore& semaphore, std::uint64_t value) {
    auto& operation = next().waitValue;
    operation.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
    operation.address = address_of(semaphore.word.data);
    operation.value64 = value;
    operation.flags = CU_STREAM_WAIT_VALUE_GEQ;
  }
  void flush() {
    if (count_ > 0) DUET_DRIVER_CHECK(driver().batch(stream_, count_, operations_, 0));
    count_ = 0;
  }

 private:
  CUstreamBatchMemOpParams& next() {
    if (count_ == kMostOperations) flush();
    return operations_[count_++] = {};
  }

  cudaStream_t stream_;
  unsigned count_ = 0;
  CUstreamBatchMemOpParams operations_[kMostOperations];
};

}  // namespace

void stream_handshake(cudaStream_t stream, const Handshake& handshake) {
  Batch batch(stream);
  for (const Semaphore& semaphore : handshake.signals) batch.write(semaphore, 1);
  for (const Semaphore& semaphore : handshake.waits) batch.wait(semaphore, 1);
  for (const Semaphore& semaphore : handshake.waits) batch.write(semaphore, 0);
  batch.flush();
}

int device_of(cudaStream_t stream) {
  CUcontext context = nullptr;
  DUET_DRIVER_CHECK(driver().context_of(stream, &context));
  DUET_DRIVER_CHECK(driver().push(context));
  CUdevice device = 0;
  const CUresult known = driver().current_device(&device);
  DUET_DRIVER_CHECK(driver().pop(&context));
  DUET_DRIVER_CHECK(known);
  return device;
}

void stream_call(cudaStream_t stream, void (*function)(void*), void* data) {
  DUET_GPU_CHECK(cudaLaunchHostFunc(stream, function, data));
}

std::unique_ptr<EngineCopies> make_engine_copies(GpuDevice&) { refuse_sdma(); }
std::unique_ptr<Stream> make_engine_stream(GpuDevice&, const StreamOptions&, int) {
  return nullptr;
}

}  // namespace duet::cuda
