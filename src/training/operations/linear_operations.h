#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "gemm/engine.h"
#include "training/operations/operations.h"

namespace duet {

// The linears of Operations as GEMMs of the device's engines. When a problem comes first, its
// plan is made and tuned, which synchronises the stream; a step is therefore run once before it is
// captured or timed.
class LinearOperations : public Operations {
 public:
  LinearOperations(Device& device, const OperationsOptions& options);

  bool fuses(const LinearGelu& operation) const override;
  bool fuses(const LinearBackwardGelu& operation) const override;
  std::uint64_t workspace_bytes() const override;

 protected:
  void enqueue(Stream& stream, const LinearForward& operation);
  void enqueue(Stream& stream, const LinearAdd& operation);
  void enqueue(Stream& stream, const LinearBackwardInput& operation);
  void enqueue(Stream& stream, const LinearBackwardWeight& operation);
  void enqueue(Stream& stream, const LinearGelu& operation);
  void enqueue(Stream& stream, const LinearBackwardGelu& operation);
  void enqueue(Stream& stream, const MultiplyScaled& operation);

 private:
  void multiply(Stream& stream, const GemmProblem& problem, const GemmBuffers& buffers);
  std::unique_ptr<GemmPlan> make(Stream& stream, const GemmProblem& problem, GemmBuffers buffers);
  // Throws Unavailable where no engine can.
  std::unique_ptr<GemmPlan> plan_by_engine(const GemmProblem& problem, const GemmBuffers& buffers);

  // A GEMM with an epilogue, if it is faster than the linear and GELU one after the other. When a
  // problem comes first, both are timed, and the choice is kept with the tuned algorithms.
  template <typename Fused>
  void multiply_fused(Stream& stream, const Fused& operation, const GemmBuffers& buffers);
  std::unique_ptr<GemmPlan> fused_if_faster(Stream& stream, const GemmProblem& problem,
                                            const GemmBuffers& buffers,
                                            const std::function<void()>& separately);
  bool fuses(const GemmProblem& problem) const;

  double tuning_seconds_;
  GemmEngines engines_;
  std::map<std::string, std::unique_ptr<GemmPlan>> plans_;  // by the problem
  std::map<std::string, std::unique_ptr<GemmPlan>> fused_;  // nullptr: separately
};

}  // namespace duet
