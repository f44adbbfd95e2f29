#include "training/cudnn/plan.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace duet::cudnn {

std::vector<Descriptor> configurations(const Descriptor& graph, const Descriptor* device) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  if (device != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finalize("ranking the configurations of a graph");

  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  std::int64_t count = 0;  // at first of all, then of those that can run
  const auto get_results = [&] {
    check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   static_cast<std::int64_t>(raw.size()), &count, raw.data()),
          "reading the configurations of a graph");
  };
  get_results();
  while (static_cast<std::int64_t>(found.size()) < count) {
    found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(found.back().get());
  }
  get_results();
  found.erase(found.begin() + count, found.end());
  return found;
}

Plan::Plan(cudnnHandle_t handle, OperationGraph graph, const std::string& what)
    : graph_(std::move(graph)),
      operations_(graph_.finalize(handle)),
      plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  std::string reason = "it knows no kernel";
  for (Descriptor& configuration : configurations(operations_)) {
    try {
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      plan.finalize("finalising a plan");
      plan_ = std::move(plan);
      configuration_.push_back(std::move(configuration));
      break;
    } catch (const Error& error) {
      reason = error.what();
    }
  }
  if (configuration_.empty()) {
    throw Unavailable(fmt::format("cuDNN {} has no plan for {}: {}", version_text(), what, reason));
  }
  std::int64_t bytes = 0, count = 0;
  check(cudnnBackendGetAttribute(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &bytes),
        "reading the size of a plan's workspace");
  workspace_bytes_ = static_cast<std::uint64_t>(bytes);
}

void Plan::execute(cudnnHandle_t handle, const std::vector<Binding>& bindings,
                   const Span& workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<void*> addresses;
  for (const Binding& binding : bindings) {
    ids.push_back(binding.id);
    addresses.push_back(binding.data);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(workspace.data));
  pack.finalize("binding a plan's tensors");
  check(cudnnBackendExecute(handle, plan_.get(), pack.get()), "enqueueing a plan");
}

}  // namespace duet::cudnn
