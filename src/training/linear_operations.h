#pragma once

#include <map>
#include <memory>
#include <string>

#include "gemm/engine.h"
#include "training/operations.h"

namespace duet {

// The linears of Operations as GEMMs of the device's engines. When a problem comes first, its
// plan is made and tuned, which synchronises the stream; a step is therefore run once before it is
// captured or timed.
class LinearOperations : public Operations {
 public:
  explicit LinearOperations(Device& device);

  void linear(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y) override;
  void linear_add(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& residual,
                  const Tensor& y) override;
  void linear_backward_input(Stream& stream, const Tensor& dy, const Tensor& w,
                             const Tensor& dx) override;
  void linear_backward_weight(Stream& stream, const Tensor& dy, const Tensor& x, const Tensor& dw,
                              Accumulate accumulate) override;

  std::uint64_t workspace_bytes() const override;

 protected:
  static void require(bool holds, const char* operation);  // throws BadArgument

 private:
  void multiply(Stream& stream, const GemmProblem& problem, const GemmBuffers& buffers);
  std::unique_ptr<GemmPlan> make(Stream& stream, const GemmProblem& problem, GemmBuffers buffers);

  Device& device_;
  GemmEngines engines_;
  std::map<std::string, std::unique_ptr<GemmPlan>> plans_;  // by the problem
};

}  // namespace duet
