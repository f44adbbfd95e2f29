// cuBLASLt and cuDNN put a memset of a few bytes before many of their kernels. In a graph on an
// H200 a memset node costs 4.5 us more than its own 0.8: 1.3 us pass before it begins and 2 to 4
// until the next kernel does, where a kernel begins 0.4 us after another one. So small memsets
// become kernels.
#include <vector>

#include "device/cuda/driver.h"
#include "device/gpu/vendor_calls.h"

namespace duet::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBytes = 64 << 10;  // of a memset that becomes a kernel

// Writes `count` elements of 1, 2 or 4 bytes.
__global__ void small_fill_kernel(void* to, unsigned value, unsigned element_bytes,
                                  std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (element_bytes == 4) {
      static_cast<unsigned*>(to)[i] = value;
    } else if (element_bytes == 2) {
      static_cast<unsigned short*>(to)[i] = static_cast<unsigned short>(value);
    } else {
      static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(value);
    }
  }
}

using Nodes = std::vector<cudaGraphNode_t>;

// From CUDA 13 on calls for edges have edge data, of which edges of memsets have none.
#if CUDART_VERSION >= 13000
#define DUET_NO_EDGE_DATA nullptr,
#else
#define DUET_NO_EDGE_DATA
#endif

// What call(nodes, &count) lists; without nodes it gives their number alone.
template <typename Call>
Nodes listed(const Call& call) {
  std::size_t count = 0;
  DUET_GPU_CHECK(call(nullptr, &count));
  Nodes nodes(count);
  if (count > 0) DUET_GPU_CHECK(call(nodes.data(), &count));
  return nodes;
}

Nodes before(cudaGraphNode_t node) {
  return listed([node](cudaGraphNode_t* nodes, std::size_t* count) {
    return cudaGraphNodeGetDependencies(node, nodes, DUET_NO_EDGE_DATA count);
  });
}

Nodes behind(cudaGraphNode_t node) {
  return listed([node](cudaGraphNode_t* nodes, std::size_t* count) {
    return cudaGraphNodeGetDependentNodes(node, nodes, DUET_NO_EDGE_DATA count);
  });
}

// The driver's type: the runtime knows none for batches of memory operations, and fails.
CUgraphNodeType type_of(cudaGraphNode_t node) {
  static const auto get_type =
      entry_point<PFN_cuGraphNodeGetType_v10000>("cuGraphNodeGetType", 10000);
  CUgraphNodeType type{};
  DUET_DRIVER_CHECK(get_type(node, &type));
  return type;
}

bool is_small_fill(cudaGraphNode_t node, cudaMemsetParams& fill) {
  if (type_of(node) != CU_GRAPH_NODE_TYPE_MEMSET) return false;
  DUET_GPU_CHECK(cudaGraphMemsetNodeGetParams(node, &fill));
  return fill.height == 1 && fill.width * fill.elementSize <= kMostBytes;
}

void replace(cudaGraph_t graph, cudaGraphNode_t node, cudaMemsetParams fill) {
  void* parameters[] = {&fill.dst, &fill.value, &fill.elementSize, &fill.width};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(small_fill_kernel);
  kernel.gridDim = dim3(static_cast<unsigned>((fill.width + kThreads - 1) / kThreads));
  kernel.blockDim = dim3(kThreads);
  kernel.kernelParams = parameters;
  const Nodes earlier = before(node), later = behind(node);
  cudaGraphNode_t added = nullptr;
  DUET_GPU_CHECK(cudaGraphAddKernelNode(&added, graph, earlier.data(), earlier.size(), &kernel));
  const Nodes from(later.size(), added);
  if (!later.empty()) {
    DUET_GPU_CHECK(
        cudaGraphAddDependencies(graph, from.data(), later.data(), DUET_NO_EDGE_DATA later.size()));
  }
  DUET_GPU_CHECK(cudaGraphDestroyNode(node));  // and its edges
}

}  // namespace

void prepare_graph(cudaGraph_t graph) {
  const Nodes all = listed([graph](cudaGraphNode_t* nodes, std::size_t* count) {
    return cudaGraphGetNodes(graph, nodes, count);
  });
  for (cudaGraphNode_t node : all) {
    cudaMemsetParams fill{};
    if (is_small_fill(node, fill)) replace(graph, node, fill);
  }
}

}  // namespace duet::cuda
