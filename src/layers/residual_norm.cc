#include "layers/residual_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gemm/reference.h"
#include "training/operations/norm_eps.h"

namespace duet {

ResidualNorm::ResidualNorm(Device& device, std::int64_t rows, std::int64_t columns, DType dtype)
    : device_(device), columns_(columns), dtype_(dtype) {
  const std::uint64_t row = static_cast<std::uint64_t>(columns) * size_of(dtype);
  residual_ = device.allocate(static_cast<std::uint64_t>(rows) * row);
  updated_ = device.allocate(residual_.span().bytes);
  weight_ = device.allocate(row);
}

RowNorm ResidualNorm::norm() const {
  return {residual(), updated(), weight_.span(), static_cast<std::size_t>(columns_),
          static_cast<float>(kRmsNormEps)};
}

void ResidualNorm::add_to(Collective& collective, CollectiveBuffers& buffers) const {
  collective.norm = {static_cast<std::uint64_t>(columns_), static_cast<float>(kRmsNormEps)};
  buffers.residual = residual();
  buffers.updated = updated();
  buffers.weight = weight_.span();
}

void ResidualNorm::plan(const Span& sums, const Span& result) {
  alone_ = device_.prepare(NormKernel{{sums}, result, norm(), dtype_});
}

void ResidualNorm::fill(std::uint64_t seed, Stream& stream) const {
  stream.fill(residual(), {FillKind::normal, 2 * seed, 0, dtype_});
  stream.fill(weight_.span(), {FillKind::normal, 2 * seed + 1, 0, dtype_});
  stream.fill(updated(), {FillKind::constant, 0xFF});  // NaN
}

double ResidualNorm::rounding(double value) const {
  const double unit = dtype_ == DType::bf16   ? 1.0 / 256
                      : dtype_ == DType::fp16 ? 1.0 / 2048
                                              : 1.0 / (1 << 20);
  return unit * std::max(1.0, std::abs(value));
}

std::vector<double> ResidualNorm::rows_of(const Span& matrix,
                                          const std::vector<std::int64_t>& rows) const {
  std::vector<double> all;
  for (const std::int64_t row : rows) {
    const std::vector<double> one = row_values(device_, matrix, columns_, dtype_, row);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::optional<Skipped> ResidualNorm::unverifiable(const Span& sums) const {
  if (device_.has_contents(sums) && device_.has_contents(updated())) return std::nullopt;
  return Skipped{"simulated: rows this large are not computed"};
}

std::string ResidualNorm::fault_of_row(const Span& result, std::int64_t row) const {
  const std::vector<double> from = rows_of(updated(), {row}), got = rows_of(result, {row});
  const std::vector<double> weight = rows_of(weight_.span(), {0});
  double squares = 0;
  for (const double value : from) squares += value * value;
  const double mean = squares / static_cast<double>(columns_);
  const double root = std::sqrt(mean + kRmsNormEps);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double wanted = from[i] / root * weight[i];
    if (std::abs(got[i] - wanted) <= rounding(wanted)) continue;  // false for NaN
    return fmt::format("the norm of row {} is {} at {}, expected {}", row, got[i], i, wanted);
  }
  return "";
}

}  // namespace duet
