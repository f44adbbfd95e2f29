#include "device/graph.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/gpu/device.h"
#include "device/gpu/stream.h"
#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {

class GpuGraph : public Graph {
 public:
  // Instantiates a captured graph. The caller keeps ownership of `captured`.
  GpuGraph(GpuDevice& device, gpuGraph_t captured);
  // Pending launches complete; the runtime frees the graph after them.
  ~GpuGraph() override;
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  void launch(Stream& stream) override;
  std::size_t size() const override { return size_; }

 private:
  GpuDevice& device_;
  gpuGraphExec_t graph_ = nullptr;
  std::size_t size_ = 0;
};

GpuGraph::GpuGraph(GpuDevice& device, gpuGraph_t captured) : device_(device) {
  DUET_GPU_CHECK(GPU(GraphGetNodes)(captured, nullptr, &size_));
  DUET_GPU_CHECK(GPU(GraphInstantiateWithFlags)(&graph_, captured, 0));
}

GpuGraph::~GpuGraph() {
  forget(GPU(SetDevice)(device_.ordinal()));
  forget(GPU(GraphExecDestroy)(graph_));
}

void GpuGraph::launch(Stream& stream) {
  if (&stream.device() != &device_) {
    throw BadArgument(
        fmt::format("{}: a graph of {}", stream.device().info().name, device_.info().name));
  }
  device_.use();
  DUET_GPU_CHECK(GPU(GraphLaunch)(graph_, static_cast<gpuStream_t>(stream.native())));
}

// Uses the relaxed capture mode. The stricter modes forbid calls that may happen during the
// capture, such as allocation and the loading of a kernel at its first launch, by other ranks'
// threads or inside a library.
void GpuStream::begin_capture() {
  device_.use();
  DUET_GPU_CHECK(GPU(StreamBeginCapture)(stream_, GPU(StreamCaptureModeRelaxed)));
}

std::unique_ptr<Graph> GpuStream::end_capture() {
  device_.use();
  gpuGraph_t captured = nullptr;
  DUET_GPU_CHECK(GPU(StreamEndCapture)(stream_, &captured));
  const auto destroy = [](gpuGraph_t graph) { forget(GPU(GraphDestroy)(graph)); };
  const std::unique_ptr<std::remove_pointer_t<gpuGraph_t>, decltype(destroy)> held(captured,
                                                                                   destroy);
  prepare_graph(captured);
  return std::make_unique<GpuGraph>(device_, captured);
}

// Ending an invalid capture returns an error and no graph, but it does end the capture.
void GpuStream::abandon_capture() noexcept {
  forget(GPU(SetDevice)(device_.ordinal()));
  gpuGraph_t captured = nullptr;
  forget(GPU(StreamEndCapture)(stream_, &captured));
  if (captured != nullptr) forget(GPU(GraphDestroy)(captured));
}

bool is_captured(gpuStream_t stream) {
  GPU(StreamCaptureStatus) status = GPU(StreamCaptureStatusNone);
  DUET_GPU_CHECK(GPU(StreamIsCapturing)(stream, &status));
  return status != GPU(StreamCaptureStatusNone);
}

}  // namespace duet::DUET_GPU
