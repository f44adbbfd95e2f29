// Memsets that a library enqueues during a capture, which Duet's graphs replay as kernels.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/machine.h"

namespace duet {
namespace {

constexpr std::uint64_t kBytes = 100'000;  // more than what becomes a kernel

// Where a memset writes, as in a graph that first fills all of the buffer with 0xFF.
struct Region {
  std::uint64_t offset, bytes;
  int value;
};

class GraphFills : public ::testing::TestWithParam<Region> {
 protected:
  void SetUp() override try {
    machine_ = open_machine("cuda:0");
  } catch (const Unavailable& reason) {
    GTEST_SKIP() << "--device cuda: " << reason.what();
  }

  std::unique_ptr<Machine> machine_;
};

TEST_P(GraphFills, ComeBehindWhatIsBeforeAndBeforeWhatIsBehind) {
  const Region region = GetParam();
  Device& device = machine_->device(0);
  const Buffer buffer = device.allocate(kBytes), copy = device.allocate(kBytes);
  const auto stream = device.make_stream();
  stream->begin_capture();
  stream->fill(buffer.span(), {FillKind::constant, 0xFF});
  ASSERT_EQ(
      cudaSuccess,
      cudaMemsetAsync(reinterpret_cast<unsigned char*>(buffer.span().data) + region.offset,
                      region.value, region.bytes, static_cast<cudaStream_t>(stream->native())));
  stream->copy({copy.span(), buffer.span(), Executor::kernel, {}});
  const auto graph = stream->end_capture();
  EXPECT_EQ(3u, graph->size());
  std::vector<unsigned char> expected(kBytes, 0xFF), got(kBytes);
  for (std::uint64_t i = 0; i < region.bytes; ++i) {
    expected[region.offset + i] = static_cast<unsigned char>(region.value);
  }
  for (int replay = 0; replay < 20; ++replay) {
    stream->fill(copy.span(), {FillKind::constant, 0});
    graph->launch(*stream);
    stream->synchronize(60);
    ASSERT_EQ(cudaSuccess,
              cudaMemcpy(got.data(), copy.span().data, kBytes, cudaMemcpyDeviceToHost));
    ASSERT_EQ(expected, got) << "replay " << replay;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GraphFills,
                         ::testing::Values(Region{0, 4, 0}, Region{256, 4, 0x5A}, Region{3, 1, 7},
                                           Region{5, 131, 1}, Region{64, 65'536, 0},
                                           Region{0, 65'540, 2}, Region{1, 99'998, 3}),
                         [](const auto& region) {
                           return std::to_string(region.param.bytes) + "_at_" +
                                  std::to_string(region.param.offset);
                         });

}  // namespace
}  // namespace duet
