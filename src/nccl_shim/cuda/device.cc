#include "nccl_shim/cuda/device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "core/error.h"
#include "device/gpu/gpu_pages.h"
#include "nccl_shim/log.h"
#include "nccl_shim/protocol/creation.h"

namespace duet::nccl_shim::cuda {
namespace {

static_assert(sizeof(CUipcMemHandle) == sizeof(ExportedMemory));

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUstream of(ShimDevice::Stream stream) { return static_cast<CUstream>(stream); }

class CudaEvent : public StreamEvent {
 public:
  explicit CudaEvent(CUcontext context) : context_(context) {
    const Entered entered(context_);
    check(driver().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  }
  ~CudaEvent() override { driver().cuEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  CUevent get() const { return event_; }

 private:
  CUcontext context_;
  CUevent event_ = nullptr;
};

CUevent of(StreamEvent& event) { return static_cast<CudaEvent&>(event).get(); }

// A capture, and what comes next on a stream of it depends on.
struct Capture {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* tip = nullptr;
  std::size_t count = 0;
};

// In a context. Behind work of the drop-in's own, whose edges have no data.
Capture capture_with_tip(CUstream stream) {
  Capture made;
#if CUDA_VERSION >= 13000
  const CUresult result = driver().cuStreamGetCaptureInfo(
      stream, &made.status, &made.id, &made.graph, &made.tip, nullptr, &made.count);
#else
  const CUresult result = driver().cuStreamGetCaptureInfo(stream, &made.status, &made.id,
                                                          &made.graph, &made.tip, &made.count);
#endif
  check(result, "cuStreamGetCaptureInfo");
  if (made.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) throw Error("the capture is invalid");
  return made;
}

// A node beside the stream's own, so that nothing of the graph waits for it.
class CudaLaunchRecord : public LaunchRecord {
 public:
  CudaLaunchRecord(CUcontext context, CUevent event, CUstream stream) : context_(context) {
    const Entered entered(context_);
    const Capture capture = capture_with_tip(stream);
    check(driver().cuGraphAddEventRecordNode(&node_, capture.graph, capture.tip, capture.count,
                                             event),
          "cuGraphAddEventRecordNode");
  }
  void extend(void* stream) override {
    const Entered entered(context_);
    const Capture capture = capture_with_tip(of(stream));
    const std::vector<CUgraphNode> to(capture.count, node_);
#if CUDA_VERSION >= 13000
    const CUresult result = driver().cuGraphAddDependencies(capture.graph, capture.tip, to.data(),
                                                            nullptr, capture.count);
#else
    const CUresult result =
        driver().cuGraphAddDependencies(capture.graph, capture.tip, to.data(), capture.count);
#endif
    check(result, "cuGraphAddDependencies");
  }

 private:
  CUcontext context_;
  CUgraphNode node_ = nullptr;
};

// Of a pointer; Unavailable where the driver knows nothing of it.
template <typename Value>
Value attribute(const void* pointer, CUpointer_attribute which) {
  Value value{};
  if (driver().cuPointerGetAttribute(&value, which, address_of(pointer)) != CUDA_SUCCESS) {
    throw Unavailable("memory that is not CUDA's");
  }
  return value;
}

// What cudaIpcGetMemHandle takes.
Allocation whole_allocation(const void* pointer, std::size_t bytes) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (driver().cuMemGetAddressRange(&base, &size, address_of(pointer)) != CUDA_SUCCESS) {
    throw Unavailable("memory of no allocation");
  }
  if (address_of(pointer) + bytes > base + size) throw Unavailable("a buffer of two allocations");
  return {static_cast<std::uintptr_t>(base), size,
          attribute<unsigned long long>(pointer, CU_POINTER_ATTRIBUTE_BUFFER_ID)};
}

// Whether the current context has these kernels, which `loaded` are then. If not, says what for.
template <typename Kernels>
bool load(const Kernels*& loaded, const char* what) {
  try {
    loaded = &Kernels::of_current_context();
  } catch (const Error& error) {
    log_info(std::string("this GPU cannot ") + what + ": " + error.what());
  }
  return loaded != nullptr;
}

// The shared memory of this process that is page-locked, for all devices at once: the ranks of one
// communicator that share a process share its mapping as well.
class LockedPages {
 public:
  // A context must be current.
  void lock(void* base, std::size_t bytes) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (uses_[base] == 0) {
      check(driver().cuMemHostRegister(base, bytes,
                                       CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
            "cuMemHostRegister");
    }
    ++uses_[base];
  }
  void unlock(void* base) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (--uses_[base] > 0) return;
    uses_.erase(base);
    driver().cuMemHostUnregister(base);
  }

 private:
  std::mutex mutex_;
  std::map<void*, int> uses_;
};

// Never ended: communicators may be, after static objects are.
LockedPages& locked_pages() {
  static auto& pages = *new LockedPages;
  return pages;
}

}  // namespace

CudaShimDevice::CudaShimDevice(CUcontext context) : context_(context) {
  const Entered entered(context_);
  check(driver().cuCtxGetDevice(&device_), "cuCtxGetDevice");
  CUuuid uuid{};
  check(driver().cuDeviceGetUuid(&uuid, device_), "cuDeviceGetUuid");
  identity_ = hash_bytes(uuid.bytes, sizeof uuid.bytes, 0xcbf29ce484222325u);
  service_ = of(create_stream());
  segments_ = std::make_unique<CudaSegments>(context_, device_);
}

CudaShimDevice::~CudaShimDevice() { driver().cuStreamDestroy(service_); }

ShimDevice::Stream CudaShimDevice::create_stream() {
  const Entered entered(context_);
  int least = 0, greatest = 0;
  check(driver().cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  CUstream stream = nullptr;
  check(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest),
        "cuStreamCreateWithPriority");
  return stream;
}

void CudaShimDevice::destroy_stream(Stream stream) { driver().cuStreamDestroy(of(stream)); }

std::uint64_t CudaShimDevice::stream_id(Stream stream) {
  if (driver().cuStreamGetId == nullptr) return 0;
  const Entered entered(context_);
  unsigned long long id = 0;
  // Numbers of the driver's begin with 0.
  return driver().cuStreamGetId(of(stream), &id) == CUDA_SUCCESS ? id + 1 : 0;
}

std::unique_ptr<StreamEvent> CudaShimDevice::create_event() {
  return std::make_unique<CudaEvent>(context_);
}

void CudaShimDevice::record(StreamEvent& event, Stream stream) {
  const Entered entered(context_);
  check(driver().cuEventRecord(of(event), of(stream)), "cuEventRecord");
}

void CudaShimDevice::wait(Stream stream, StreamEvent& event) {
  const Entered entered(context_);
  check(driver().cuStreamWaitEvent(of(stream), of(event), 0), "cuStreamWaitEvent");
}

bool CudaShimDevice::done(StreamEvent& event) {
  const Entered entered(context_);
  return driver().cuEventQuery(of(event)) != CUDA_ERROR_NOT_READY;
}

// CU_STREAM_WAIT_VALUE_GEQ compares in a circle, as has_come() does. A write by default comes
// behind all that the stream has done before.
void CudaShimDevice::words(Stream stream, const std::vector<WordOperation>& operations) {
  std::vector<CUstreamBatchMemOpParams> batch(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const WordOperation& each = operations[i];
    CUstreamBatchMemOpParams& made = batch[i];
    std::memset(&made, 0, sizeof made);
    if (each.what == WordOperation::What::wait) {
      made.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      made.waitValue.address = device_address(each.word);
      made.waitValue.value = each.value;
      made.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    } else {
      made.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      made.writeValue.address = device_address(each.word);
      made.writeValue.value = each.value;
      made.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
    }
  }
  const Entered entered(context_);
  check(
      driver().cuStreamBatchMemOp(of(stream), static_cast<unsigned>(batch.size()), batch.data(), 0),
      "cuStreamBatchMemOp");
}

void CudaShimDevice::copy(Stream stream, void* to, const void* from, std::size_t bytes) {
  const Entered entered(context_);
  check(driver().cuMemcpyAsync(address_of(to), address_of(from), bytes, of(stream)),
        "cuMemcpyAsync");
}

// The legacy stream cannot be asked while another is captured; a call on it would be an error.
std::uint64_t CudaShimDevice::capture(Stream stream) {
  const Entered entered(context_);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
#if CUDA_VERSION >= 13000
  const CUresult result =
      driver().cuStreamGetCaptureInfo(of(stream), &status, &id, nullptr, nullptr, nullptr, nullptr);
#else
  const CUresult result =
      driver().cuStreamGetCaptureInfo(of(stream), &status, &id, nullptr, nullptr, nullptr);
#endif
  if (result != CUDA_SUCCESS) return kUnknownCapture;
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return kNotCaptured;
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : kUnknownCapture;
}

void CudaShimDevice::wait_at_launch(Stream stream, StreamEvent& event) {
  const Entered entered(context_);
  check(driver().cuStreamWaitEvent(of(stream), of(event), CU_EVENT_WAIT_EXTERNAL),
        "cuStreamWaitEvent");
}

std::unique_ptr<LaunchRecord> CudaShimDevice::record_at_launch(StreamEvent& event, Stream stream) {
  return std::make_unique<CudaLaunchRecord>(context_, of(event), of(stream));
}

bool CudaShimDevice::can_reduce() {
  const Entered entered(context_);
  return load(kernels_, "reduce");
}

void CudaShimDevice::reduce(Stream stream, const PartsToReduce& reduced) {
  const Entered entered(context_);
  kernels_->launch(reduced, of(stream));
}

bool CudaShimDevice::can_exchange_packets() {
  const Entered entered(context_);
  return load(packets_, "exchange packets");
}

bool CudaShimDevice::can_exchange_chunks() {
  const Entered entered(context_);
  return load(chunks_, "exchange chunks");
}

void CudaShimDevice::exchange(Stream stream, const PacketExchange& exchanged) {
  const Entered entered(context_);
  packets_->launch(exchanged, device_address(exchanged.words), of(stream));
}

void CudaShimDevice::exchange(Stream stream, const ChunkExchange& exchanged) {
  const Entered entered(context_);
  chunks_->launch(exchanged, device_address(exchanged.words), of(stream));
}

void CudaShimDevice::share_words(void* base, std::size_t bytes) {
  const Entered entered(context_);
  locked_pages().lock(base, bytes);
  CUdeviceptr device = 0;
  const CUresult result = driver().cuMemHostGetDevicePointer(&device, base, 0);
  if (result != CUDA_SUCCESS) locked_pages().unlock(base);
  check(result, "cuMemHostGetDevicePointer");
  const std::lock_guard<std::mutex> lock(mutex_);
  shared_.push_back({static_cast<const char*>(base), bytes, device});
}

void CudaShimDevice::unshare_words(void* base) {
  const Entered entered(context_);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(shared_.begin(), shared_.end(),
                                  [base](const SharedWords& each) { return each.base == base; });
  if (found == shared_.end()) return;
  shared_.erase(found);
  locked_pages().unlock(base);
}

CUdeviceptr CudaShimDevice::device_address(const void* word) {
  const auto* const at = static_cast<const char*>(word);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const SharedWords& each : shared_) {
    if (at >= each.base && at < each.base + each.bytes) {
      return each.device + static_cast<CUdeviceptr>(at - each.base);
    }
  }
  throw BadArgument("a word that is not in shared memory");
}

std::vector<Allocation> CudaShimDevice::allocations(const void* pointer, std::size_t bytes) {
  const Entered entered(context_);
  if (attribute<CUmemorytype>(pointer, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) != CU_MEMORYTYPE_DEVICE ||
      attribute<int>(pointer, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) != device_) {
    throw Unavailable("memory that is not this device's");
  }
  if (attribute<int>(pointer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) != 0) {
    return {whole_allocation(pointer, bytes)};
  }
  if (attribute<CUmemoryPool>(pointer, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) != nullptr) {
    throw Unavailable("memory of a pool");
  }
  return segments_->of(address_of(pointer), bytes);
}

bool CudaShimDevice::exists(const Allocation& allocation) {
  const Entered entered(context_);
  if (allocation.is_segment) return segments_->exists(allocation);
  unsigned long long id = 0;
  return driver().cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, allocation.base) ==
             CUDA_SUCCESS &&
         id == allocation.id;
}

ExportedMemory CudaShimDevice::export_memory(const Allocation& allocation) {
  const Entered entered(context_);
  CUipcMemHandle handle{};
  if (driver().cuIpcGetMemHandle(&handle, allocation.base) != CUDA_SUCCESS) {
    throw Unavailable("memory that cannot be exported");
  }
  ExportedMemory memory{};
  std::memcpy(memory.bytes, &handle, sizeof handle);
  return memory;
}

void* CudaShimDevice::import_memory(const ExportedMemory& memory, std::size_t) {
  const Entered entered(context_);
  CUipcMemHandle handle{};
  std::memcpy(&handle, memory.bytes, sizeof handle);
  CUdeviceptr base = 0;
  check(driver().cuIpcOpenMemHandle(&base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
        "cuIpcOpenMemHandle");
  return reinterpret_cast<void*>(base);
}

void CudaShimDevice::unimport_memory(void* base, std::size_t) {
  const Entered entered(context_);
  driver().cuIpcCloseMemHandle(address_of(base));
}

void CudaShimDevice::reach(const void* memory) {
  const Entered entered(context_);
  const int other = attribute<int>(memory, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  if (other == device_) return;
  CUcontext context = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&context, other), "cuDevicePrimaryCtxRetain");
  const CUresult result = driver().cuCtxEnablePeerAccess(context, 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) check(result, "cuCtxEnablePeerAccess");
}

void* CudaShimDevice::allocate(std::size_t bytes) {
  const Entered entered(context_);
  CUdeviceptr base = 0;
  check(driver().cuMemAlloc(&base, whole_gpu_pages(bytes)), "cuMemAlloc");
  return reinterpret_cast<void*>(base);
}

void CudaShimDevice::free(void* base) {
  const Entered entered(context_);
  driver().cuMemFree(address_of(base));
}

void CudaShimDevice::transfer(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const Entered entered(context_);
  check(driver().cuMemcpyAsync(to, from, bytes, service_), "cuMemcpyAsync");
  check(driver().cuStreamSynchronize(service_), "cuStreamSynchronize");
}

void CudaShimDevice::clear(void* base, std::size_t bytes) {
  const Entered entered(context_);
  check(driver().cuMemsetD8Async(address_of(base), 0, bytes, service_), "cuMemsetD8Async");
  check(driver().cuStreamSynchronize(service_), "cuStreamSynchronize");
}

void CudaShimDevice::write(std::uint64_t* to, std::uint64_t value) {
  transfer(address_of(to), address_of(&value), sizeof value);
}

std::uint64_t CudaShimDevice::read(const std::uint64_t* from) {
  std::uint64_t value = 0;
  transfer(address_of(&value), address_of(from), sizeof value);
  return value;
}

}  // namespace duet::nccl_shim::cuda
