// The part of the NVIDIA driver that the drop-in calls, over "GPUs" of the host: libcuda.so.1 for
// programs under test. Calls without a current context, of unknown memory and with other flags than
// the drop-in's are errors, and so are all calls behind host_gpu_fail().
#include "fake_gpu/cuda/driver.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/collective_kernel.h"
#include "fake_gpu/core/host_vmm.h"
#include "fake_gpu/core/streams.h"
#include "fake_gpu/cuda/host_device.h"
#include "fake_gpu/cuda/host_gpu.h"
#include "fake_gpu/cuda/kernels.h"
#include "nccl_shim/cuda/kernel_arguments.h"

namespace host = duet::nccl_shim::host;
using duet::Error;
using duet::nccl_shim::ExchangeWords;
using duet::nccl_shim::PacketExchange;
using duet::nccl_shim::PartsToReduce;
using duet::nccl_shim::Word;
using duet::nccl_shim::WordOperation;
using fake_cuda::in_context;
using fake_cuda::pointer;
using fake_cuda::pushed;

// What a stream in a capture has, or what records an event at each launch.
struct CUgraphNode_st {
  fake_gpu::Graph* graph;
  fake_gpu::Position behind;
  std::size_t record;
};

// A kernel of reductions, or one of packets or chunks, which may reduce.
struct CUfunc_st {
  enum class What { reduction, packets, chunks };
  What what;
  bool reduces;
  duet::DType type;
  duet::Reduction reduction;
};

namespace {

constexpr unsigned kDelayMicroseconds = 50;

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::mutex mutex;

// Of a program's device that it has set, as of cudaSetDevice.
CUcontext context_of(int device) {
  static std::mutex making;
  static auto& contexts = *new std::map<int, CUctx_st>;
  const std::lock_guard<std::mutex> lock(making);
  return &contexts.try_emplace(device, CUctx_st{device}).first->second;
}

fake_gpu::Stream& of(CUstream stream) { return fake_gpu::Stream::of(stream); }

CUgraphNode keep(const CUgraphNode_st& node) {
  static auto& nodes = *new std::deque<CUgraphNode_st>;
  const std::lock_guard<std::mutex> lock(mutex);
  return &nodes.emplace_back(node);
}

fake_gpu::Event& of(CUevent event) { return *reinterpret_cast<fake_gpu::Event*>(event); }

// By names such as duet_reduce_bf16_sum, duet_exchange_bf16_sum and duet_chunks_bf16_sum.
std::map<std::string, CUfunc_st>& kernels() {
  static auto& made = *new std::map<std::string, CUfunc_st>;
  if (!made.empty()) return made;
  const std::pair<const char*, duet::DType> types[] = {{"fp32", duet::DType::fp32},
                                                       {"fp16", duet::DType::fp16},
                                                       {"bf16", duet::DType::bf16},
                                                       {"int32", duet::DType::int32}};
  const std::pair<const char*, duet::Reduction> reductions[] = {
      {"sum", duet::Reduction::sum}, {"max", duet::Reduction::max}, {"min", duet::Reduction::min}};
  for (const auto& [type_name, type] : types) {
    for (const auto& [name, reduction] : reductions) {
      const std::string of = std::string(type_name) + "_" + name;
      made["duet_reduce_" + of] = {CUfunc_st::What::reduction, true, type, reduction};
      made["duet_exchange_" + of] = {CUfunc_st::What::packets, true, type, reduction};
      made["duet_chunks_" + of] = {CUfunc_st::What::chunks, true, type, reduction};
    }
  }
  made["duet_exchange"] = {CUfunc_st::What::packets, false, {}, {}};
  made["duet_chunks"] = {CUfunc_st::What::chunks, false, {}, {}};
  return made;
}

// What the launch reduces. Throws Error where its blocks are not those that the arguments are for.
PartsToReduce launched(const CUfunc_st& kernel, const duet::nccl_shim::cuda::ReduceArguments& of,
                       unsigned blocks) {
  const std::uint64_t share = std::uint64_t{16} * of.share;
  if (of.parts == 0 || share * blocks < of.bytes || share * (blocks - 1) >= of.bytes) {
    throw Error("blocks that are not for these parts");
  }
  PartsToReduce reduced{of.addresses[of.parts], {}, of.bytes, kernel.type, kernel.reduction};
  for (std::uint32_t part = 0; part < of.parts; ++part) {
    reduced.parts.push_back(of.addresses[part]);
  }
  if (of.divisor > 1) reduced.reduction = duet::Reduction::avg;
  return reduced;
}

std::optional<duet::nccl_shim::Exchange::Reduced> reduced_by(const CUfunc_st& kernel) {
  if (!kernel.reduces) return std::nullopt;
  return duet::nccl_shim::Exchange::Reduced{kernel.type, kernel.reduction};
}

PacketExchange exchange_of(const CUfunc_st& kernel,
                           const duet::nccl_shim::cuda::PacketArguments& arguments) {
  const duet::gpu::PacketTable& of = arguments.exchange;
  auto* const words =
      reinterpret_cast<ExchangeWords*>(const_cast<std::uint32_t*>(arguments.words.ended));
  if (arguments.words.awaited != reinterpret_cast<std::uint32_t*>(words->awaited.data()) ||
      of.places != duet::nccl_shim::kPacketBlocks) {
    throw Error("words in other places");
  }
  PacketExchange made{
      {{}, static_cast<int>(of.rank), of.own, of.result, {}, of.last, words}, of.bytes, of.turn};
  if (kernel.reduces) {
    made.reduced = {kernel.type, of.divisor > 1 ? duet::Reduction::avg : kernel.reduction};
  }
  const auto own =
      reinterpret_cast<std::uintptr_t>(of.own) | reinterpret_cast<std::uintptr_t>(of.result);
  for (std::uint32_t i = 0; i < of.count; ++i) {
    const auto& peer = of.peers[i];
    made.peers.push_back({peer.source, peer.to, peer.from, peer.target});
    const auto parts = reinterpret_cast<std::uintptr_t>(peer.source) |
                       reinterpret_cast<std::uintptr_t>(peer.target);
    const auto buffers =
        reinterpret_cast<std::uintptr_t>(peer.to) | reinterpret_cast<std::uintptr_t>(peer.from);
    if (buffers % 16 != 0 || (of.aligned != 0 && (parts | own) % 8 != 0))
      throw Error("misaligned addresses");
  }
  return made;
}

}  // namespace

namespace fake_cuda {
thread_local std::vector<CUcontext> pushed;
}

extern "C" {

CUresult cuGetErrorString(CUresult result, const char** text) {
  *text = result == CUDA_ERROR_INVALID_CONTEXT ? "no context" : "an error of the stand-in";
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = pushed.empty() ? context_of(host_gpu_device()) : pushed.back();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  pushed.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return in_context([&] {
    *context = pushed.back();
    pushed.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = pushed.empty() ? host_gpu_device() : pushed.back()->device;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "%s", host_gpu_model());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 'u', sizeof uuid->bytes);
  uuid->bytes[0] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = context_of(device);
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_SUCCESS; }

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return in_context([&] {
    if (flags != CU_STREAM_NON_BLOCKING || priority != -5) return CUDA_ERROR_INVALID_VALUE;
    *stream =
        reinterpret_cast<CUstream>(new fake_gpu::Stream(pushed.back()->device, kDelayMicroseconds));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamDestroy(CUstream stream) {
  of(stream).synchronise();
  delete &of(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return in_context([&] {
    const fake_gpu::Stream::Capture captured = of(stream).capture();
    if (captured.graph != nullptr) {
      captured.graph->invalidate();
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    *id = of(stream).id - 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  of(stream).synchronise();
  return CUDA_SUCCESS;
}

// As of CUDA 13, where the one of CUDA 12 has no `edges`.
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                CUgraph* graph, const CUgraphNode** tip,
#if CUDA_VERSION >= 13000
                                const CUgraphEdgeData** edges,
#endif
                                std::size_t* count) {
#if CUDA_VERSION >= 13000
  if (edges != nullptr) return CUDA_ERROR_INVALID_VALUE;
#endif
  const fake_gpu::Stream::Capture captured = of(stream).capture();
  *status =
      captured.graph == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (captured.graph == nullptr) return CUDA_SUCCESS;
  if (captured.graph->invalid()) {
    *status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
  }
  *id = captured.graph->id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(captured.graph.get());
  if (tip == nullptr) return CUDA_SUCCESS;
  static thread_local CUgraphNode node;
  node = keep({captured.graph.get(), captured.position(), 0});
  *tip = &node;
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* behind,
                                   std::size_t count, CUevent event) {
  return in_context([&] {
    auto* const captured = reinterpret_cast<fake_gpu::Graph*>(graph);
    if (count != 1 || behind[0]->graph != captured) return CUDA_ERROR_INVALID_VALUE;
    *node = keep({captured, {}, captured->record_at_launch(of(event), behind[0]->behind)});
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
#if CUDA_VERSION >= 13000
                                const CUgraphEdgeData*,
#endif
                                std::size_t count) {
  return in_context([&] {
    auto* const captured = reinterpret_cast<fake_gpu::Graph*>(graph);
    if (count != 1 || from[0]->graph != captured || to[0]->graph != captured) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    captured->extend_record(to[0]->record, from[0]->behind);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return in_context([&] {
    if (flags != CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_VALUE;
    *event = reinterpret_cast<CUevent>(new fake_gpu::Event);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent event) {
  delete &of(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return in_context([&] {
    host_gpu_wait_for_copies_out();
    of(event).record(of(stream));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return in_context([&] {
    const fake_gpu::Stream::Capture captured = of(stream).capture();
    if (flags == CU_EVENT_WAIT_EXTERNAL) {
      if (captured.graph == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
      captured.graph->wait_at_launch(captured.branch, of(event));
    } else {
      of(event).wait(of(stream));
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuEventQuery(CUevent event) {
  return in_context([&] { return of(event).done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY; });
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* batch,
                            unsigned) {
  return in_context([&] {
    std::vector<WordOperation> operations;
    for (unsigned i = 0; i < count; ++i) {
      const auto& wait = batch[i].waitValue;
      const auto& write = batch[i].writeValue;
      if (batch[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32) {
        if (wait.flags != CU_STREAM_WAIT_VALUE_GEQ) return CUDA_ERROR_INVALID_VALUE;
        operations.push_back(
            {WordOperation::What::wait, static_cast<Word*>(pointer(wait.address)), wait.value});
      } else if (batch[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32) {
        operations.push_back(
            {WordOperation::What::set, static_cast<Word*>(pointer(write.address)), write.value});
      } else {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    for (const WordOperation& each : operations) host::enqueue_word(of(stream), each);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return in_context([&] {
    for (const CUdeviceptr each : {to, from}) {
      if (!host_vmm::reaches(pointer(each), bytes, pushed.back()->device)) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
      }
    }
    of(stream).enqueue([=] { std::memmove(pointer(to), pointer(from), bytes); });
    return CUDA_SUCCESS;
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  return in_context([&] {
    of(stream).enqueue([=] { std::memset(pointer(to), value, bytes); });
    return CUDA_SUCCESS;
  });
}

// An image begins as a fatbin does.
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return in_context([&] {
    constexpr std::uint32_t kFatbin = 0xba55ed50;
    if (std::memcmp(image, &kFatbin, sizeof kFatbin) != 0) return CUDA_ERROR_INVALID_IMAGE;
    *module = reinterpret_cast<CUmodule>(&kernels());
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  return in_context([&] {
    const auto found = kernels().find(name);
    if (found == kernels().end()) return CUDA_ERROR_NOT_FOUND;
    *function = &found->second;
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned rows, unsigned layers,
                        unsigned threads, unsigned thread_rows, unsigned thread_layers,
                        unsigned shared_bytes, CUstream stream, void** parameters, void** extra) {
  return in_context([&] {
    if (rows * layers * thread_rows * thread_layers != 1 || threads != duet::kKernelThreads ||
        shared_bytes != 0 || extra != nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (function->what == CUfunc_st::What::chunks) {
      const auto arguments =
          *static_cast<const duet::nccl_shim::cuda::ChunkArguments*>(parameters[0]);
      if (arguments.blocks != blocks || arguments.words.awaited != arguments.words.ended + 1) {
        throw Error("words in other places, or other blocks");
      }
      of(stream).enqueue([arguments, reduced = reduced_by(*function)] {
        host::exchange_chunks(arguments, reduced);
      });
      return CUDA_SUCCESS;
    }
    if (function->what == CUfunc_st::What::packets) {
      const PacketExchange exchanged = exchange_of(
          *function, *static_cast<const duet::nccl_shim::cuda::PacketArguments*>(parameters[0]));
      of(stream).enqueue([exchanged] { host::exchange_packets(exchanged); });
      return CUDA_SUCCESS;
    }
    const PartsToReduce reduced = launched(
        *function, *static_cast<const duet::nccl_shim::cuda::ReduceArguments*>(parameters[0]),
        blocks);
    of(stream).enqueue([reduced] { host::reduce_parts(reduced); });
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
