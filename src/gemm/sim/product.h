// Products of matrices with contents on a simulated device, computed by the CPU. Small ones only.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "gemm/engine.h"

namespace duet {

Skipped simulated_product_too_large();

class SimulatedProduct {
 public:
  SimulatedProduct(Device& device, const GemmProblem& problem)
      : device_(device), problem_(problem) {}

  // Why these matrices are not multiplied, if so.
  std::optional<Skipped> unverifiable(const GemmBuffers& buffers) const;

  // Writes C, and aux where the problem has one. Call it only where unverifiable() has no reason.
  void write(const GemmBuffers& buffers);

 private:
  // Of the matrices that end in one C.
  struct Known {
    std::vector<std::byte> input, product;  // A and B of the last call, and their product
  };

  const std::vector<std::byte>& multiply(const GemmBuffers& buffers);
  void write_sum(const Span& c, const std::vector<std::byte>& product);
  void write_with_epilogue(const GemmBuffers& buffers, const std::vector<std::byte>& product);

  Device& device_;
  GemmProblem problem_;
  std::map<const std::byte*, Known> known_;  // by the address of C
};

}  // namespace duet
