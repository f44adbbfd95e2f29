#pragma once

#include <map>
#include <memory>
#include <string>

#include "gemm/engine.h"

namespace duet {

// The GEMMs of a training step on one device: a plan for each problem, made when it is first
// enqueued. A step is therefore run once before it is captured or timed.
class GemmPlans {
 public:
  explicit GemmPlans(Device& device);

  // Throws Unavailable if no engine of the device runs the problem.
  void enqueue(Stream& stream, const GemmProblem& problem, const GemmBuffers& buffers);

 private:
  std::unique_ptr<GemmPlan> make(const GemmProblem& problem, const GemmBuffers& buffers);

  Device& device_;
  GemmEngines engines_;
  std::map<std::string, std::unique_ptr<GemmPlan>> plans_;  // by the problem's name
};

}  // namespace duet
