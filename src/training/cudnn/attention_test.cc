// What cuDNN says of the graphs without a GPU: it ranks configurations for properties that are
// given as text, and sorts out those that cannot run where a driver's library can be opened, which
// the toolkit's stub can.
#include <gtest/gtest.h>

#include "core/module.h"
#include "device/machine.h"
#include "training/cudnn/attention_graph.h"
#include "training/cudnn/plan.h"

namespace duet::cudnn {
namespace {

#if CUDNN_VERSION >= 90800  // since when properties can be given

constexpr char kH200[] = R"({
  "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "multiProcessorCount": 132,
  "warpSize": 32, "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "totalGlobalMem": 150109880320, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
  "l2CacheSize": 62914560})";

std::size_t count(const OperationGraph& graph) {
  static const Library stub({DUET_CUDA_STUB});
  Descriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
             std::vector<char>(std::begin(kH200), std::end(kH200)));
  device.finalize("describing a device");
  const Descriptor operations = graph.finalize(nullptr);
  return configurations(operations, &device).size();
}

TEST(CudnnAttention, GraphsAreRecognised) {
  for (const AttentionShape shape : {AttentionShape{32, 512, 6, 64},
                                     {2, 512, 32, 80},
                                     {8, 1024, 32, 128},
                                     {1, 8192, 32, 128, 8},
                                     {2, 512, 6, 64, 2},
                                     {3, 256, 4, 128, 1},
                                     {2, 512, 6, 64, 6}}) {
    for (const cudnnDataType_t type : {CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF}) {
      EXPECT_GT(count(forward_graph(shape, type)), 0u);
      EXPECT_GT(count(backward_graph(shape, type, false)), 0u);
      EXPECT_GT(count(backward_graph(shape, type, true)), 0u);
    }
  }
}

// Otherwise the test above would say nothing.
TEST(CudnnAttention, HeadsOfTwentyAreRefused) {
  const AttentionShape shape{1, 128, 2, 20};
  EXPECT_EQ(count(forward_graph(shape, CUDNN_DATA_BFLOAT16)), 0u);
  EXPECT_EQ(count(backward_graph(shape, CUDNN_DATA_BFLOAT16, false)), 0u);
}

#endif

TEST(CudnnAttention, TheEngineSaysWhatItCannotRun) {
  const AttentionEngines found = attention_engines("cuda");
  ASSERT_FALSE(found.engines.empty()) << found.unavailable.front().second;
  const AttentionEngine& engine = *found.engines.front();
  EXPECT_EQ(engine.name(), "cudnn");
  const auto machine = open_machine("host");
  Device& device = machine->device(0);
  EXPECT_FALSE(engine.unsupported(device, {1, 128, 2, 64}, DType::bf16));
  EXPECT_EQ(engine.unsupported(device, {1, 128, 2, 64}, DType::fp32)->reason,
            "cuDNN's attention takes bf16 and fp16, not fp32");
  for (const std::int64_t head_dim : {20, 136}) {
    EXPECT_EQ(engine.unsupported(device, {1, 128, 2, head_dim}, DType::bf16)->reason,
              "cuDNN's attention takes heads of 8, 16 ... 128 elements, not of " +
                  std::to_string(head_dim));
  }
}

}  // namespace
}  // namespace duet::cudnn
