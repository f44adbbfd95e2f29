// A graph of the vendor's, ready to launch.
#pragma once

#include "device/gpu/device.h"
#include "device/graph.h"

namespace duet::DUET_GPU {

class GpuGraph : public Graph {
 public:
  // Of what was captured, which stays the caller's.
  GpuGraph(GpuDevice& device, gpuGraph_t captured);
  // Launches that are under way go on; the runtime frees the graph after them.
  ~GpuGraph() override;
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  void launch(Stream& stream) override;

 private:
  GpuDevice& device_;
  gpuGraphExec_t graph_ = nullptr;
};

}  // namespace duet::DUET_GPU
