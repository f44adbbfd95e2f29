// What follows a sum over ranks in a layer: it is added to a residual, and the RMSNorm of that is
// the result (SumNorm, collectives/collective.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "device/device.h"

namespace duet {

class ResidualNorm {
 public:
  // Of rows x columns; allocates. The device must outlive it.
  ResidualNorm(Device& device, std::int64_t rows, std::int64_t columns, DType dtype);

  // The collective that ends with it, and its buffers.
  void add_to(Collective& collective, CollectiveBuffers& buffers) const;
  // For calls without a collective: plans the same of a rank's own sums.
  void plan(const Span& sums, const Span& result);
  void enqueue(Stream& stream) const { stream.launch(*alone_); }  // after plan()
  // A residual and a weight, the same on all ranks; the updated residual is not there.
  void fill(std::uint64_t seed, Stream& stream) const;

  Span residual() const { return residual_.span(); }
  Span updated() const { return updated_.span(); }
  // Rows of a matrix of these columns and this type, one behind the other.
  std::vector<double> rows_of(const Span& matrix, const std::vector<std::int64_t>& rows) const;
  // Why results cannot be compared, of such partial sums: a simulated device does not compute them.
  std::optional<Skipped> unverifiable(const Span& sums) const;
  // What rounding may change in an element of this size.
  double rounding(double value) const;
  // Compares a row of the result with the norm of the updated residual's. Returns what is wrong, ""
  // if nothing is.
  std::string fault_of_row(const Span& result, std::int64_t row) const;

 private:
  RowNorm norm() const;

  Device& device_;
  const std::int64_t columns_;
  const DType dtype_;
  Buffer residual_, updated_, weight_;
  std::unique_ptr<PreparedKernel> alone_;
};

}  // namespace duet
