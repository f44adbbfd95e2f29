// From a graph to a kernel: cuDNN's ranking of configurations, and a plan that runs one of them.
#pragma once

#include <string>
#include <vector>

#include "device/buffer.h"
#include "training/cudnn/graph.h"

namespace duet::cudnn {

// The configurations of a finalised graph that can run, best first by cuDNN's heuristics. Blocks:
// the library looks at each. `device`: properties of the device to rank for; nullptr: of the
// graph's handle.
std::vector<Descriptor> configurations(const Descriptor& graph, const Descriptor* device = nullptr);

// The address of a tensor (of a number: on the host) for one call.
struct Binding {
  std::int64_t id;
  void* data;
};

class Plan {
 public:
  // The first configuration of the ranking that cuDNN can finalise. Blocks while kernels are
  // compiled. Throws Unavailable with `what`, the graph's name, if there is none.
  Plan(cudnnHandle_t handle, OperationGraph graph, const std::string& what);

  std::uint64_t workspace_bytes() const { return workspace_bytes_; }

  // Enqueues the kernels on the handle's stream. Neither blocks nor allocates device memory.
  void execute(cudnnHandle_t handle, const std::vector<Binding>& bindings,
               const Span& workspace) const;

 private:
  // Also what the plan was made from, because cuDNN does not say whether a plan keeps it.
  OperationGraph graph_;
  Descriptor operations_;
  std::vector<Descriptor> configuration_;  // one
  Descriptor plan_;
  std::uint64_t workspace_bytes_ = 0;
};

}  // namespace duet::cudnn
