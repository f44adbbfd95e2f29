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

  void linear(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y) override;
  void linear_add(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& residual,
                  const Tensor& y) override;
  void linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w, const Tensor& dx,
                             Accumulate accumulate) override;
  void linear_gelu(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& hidden,
                   const Tensor& activated) override;
  void linear_backward_gelu(Stream& stream, const Tensor& dy, const Tensor& w, const Tensor& hidden,
                            const Tensor& dhidden) override;
  bool fuses_gelu(const Tensor& x, const Tensor& hidden) const override;
  bool fuses_backward_gelu(const Tensor& dy, const Tensor& hidden) const override;
  void linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x, const Tensor& dw,
                              Accumulate accumulate) override;
  void multiply_scaled(Stream& stream, const ScaledTensor& a, const ScaledTensor& b,
                       const Tensor& addend, const Tensor& y, Sums sums) override;

  std::uint64_t workspace_bytes() const override;

 protected:
  static void require(bool holds, const char* operation);  // throws BadArgument
  // That the shapes and types of multiply_scaled() fit.
  static void require_scaled(const ScaledTensor& a, const ScaledTensor& b, const Tensor& addend,
                             const Tensor& y);

 private:
  void multiply(Stream& stream, const GemmProblem& problem, const GemmBuffers& buffers);
  std::unique_ptr<GemmPlan> make(Stream& stream, const GemmProblem& problem, GemmBuffers buffers);
  // Throws Unavailable where no engine can.
  std::unique_ptr<GemmPlan> plan_by_engine(const GemmProblem& problem, const GemmBuffers& buffers);

  // A GEMM with an epilogue, if it is faster than the GEMM and what comes after it, which
  // `separately` enqueues. When a problem comes first, both are timed, and the choice is kept with
  // the tuned algorithms.
  void multiply_fused(Stream& stream, const GemmProblem& problem, const GemmBuffers& buffers,
                      const std::function<void()>& separately);
  std::unique_ptr<GemmPlan> fused_if_faster(Stream& stream, const GemmProblem& problem,
                                            const GemmBuffers& buffers,
                                            const std::function<void()>& separately);
  bool fuses(const GemmProblem& problem) const;

  Device& device_;
  double tuning_seconds_;
  GemmEngines engines_;
  std::map<std::string, std::unique_ptr<GemmPlan>> plans_;  // by the problem
  std::map<std::string, std::unique_ptr<GemmPlan>> fused_;  // nullptr: separately
};

}  // namespace duet
