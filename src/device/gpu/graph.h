#pragma once

#include "device/gpu/device.h"
#include "device/graph.h"

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

}  // namespace duet::DUET_GPU
