#include "training/models/row_exchange.h"

#include <utility>

namespace duet {

RowExchange* ModelRowExchange::set(RowExchange* by) { return std::exchange(by_, by); }

void ModelRowExchange::gather(Stream& stream, const Tensor& own, const Tensor& all,
                              const Gemm& gemm) {
  if (by_ != nullptr) return by_->gather(stream, own, all, gemm);
  if (gemm) gemm(stream, {0, all.rows}, all);
}

void ModelRowExchange::scatter(Stream& stream, const Tensor& partial, const Tensor& own,
                               const Gemm& gemm) {
  if (by_ != nullptr) return by_->scatter(stream, partial, own, gemm);
  if (gemm) gemm(stream, {0, partial.rows}, partial);
}

}  // namespace duet
