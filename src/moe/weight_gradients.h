#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gemm/engine.h"
#include "training/operations/tensor.h"

namespace duet {

// The gradients of the matrices of groups: dw (groups * m, n) has of each group dy^T x of its rows
// of dy (all_rows, m) and x (all_rows, n), which lie behind those of the group before, and 0 of a
// group without rows. One group after the other, since each product fills a device.
class WeightGradients {
 public:
  // Blocks. The device and the matrices must outlive it. Throws Unavailable where no engine
  // multiplies them.
  WeightGradients(Device& device, const std::vector<std::int64_t>& rows, const Tensor& dy,
                  const Tensor& x, const Tensor& dw, const Tuning& tuning);

  void enqueue(Stream& stream) const;
  std::size_t operations() const { return 2 * products_.size(); }
  std::optional<Skipped> unverifiable() const;

  struct Product {
    GemmProblem problem;  // without rows: k is 0
    GemmBuffers buffers;
  };
  const std::vector<Product>& products() const { return products_; }  // by group

 private:
  std::vector<Product> products_;
  std::map<std::int64_t, std::unique_ptr<GemmPlan>> plans_;  // by rows of a group
};

}  // namespace duet
