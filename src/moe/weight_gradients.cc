#include "moe/weight_gradients.h"

#include "gemm/first_engine.h"
#include "gemm/grouped.h"

namespace duet {
namespace {

constexpr int kLeastAlignment = 16;  // bytes: rows are multiples of it

}  // namespace

WeightGradients::WeightGradients(Device& device, const std::vector<std::int64_t>& rows,
                                 const Tensor& dy, const Tensor& x, const Tensor& dw,
                                 const Tuning& tuning) {
  RowRange of_group;
  std::vector<GemmProblem> problems;
  for (std::size_t group = 0; group < rows.size(); ++group) {
    of_group = {of_group.last, of_group.last + rows[group]};
    const auto at = static_cast<std::int64_t>(group);
    GemmProblem problem{dy.columns, x.columns, rows[group], dy.dtype, default_output(dy.dtype),
                        Layout::tn};
    problem.alignment = kLeastAlignment;
    products_.push_back({problem,
                         {rows_of(dy, of_group).span, rows_of(x, of_group).span,
                          rows_of(dw, {at * dy.columns, (at + 1) * dy.columns}).span}});
    if (rows[group] > 0) problems.push_back(problem);
  }
  if (problems.empty()) return;
  GemmEngine& engine = first_gemm_engine(device, "", problems, "moe");
  const Tuning of_each = tuning_of_each(tuning, rows);
  for (const Product& each : products_) {
    if (each.problem.k == 0 || plans_.count(each.problem.k) > 0) continue;
    plans_[each.problem.k] = engine.plan(device, each.problem, each.buffers, of_each);
  }
}

void WeightGradients::enqueue(Stream& stream) const {
  for (const Product& each : products_) {
    if (each.problem.k > 0)
      plans_.at(each.problem.k)->enqueue(stream, each.buffers);
    else
      stream.fill(each.buffers.c, {FillKind::constant, 0});
  }
}

std::optional<Skipped> WeightGradients::unverifiable() const {
  for (const Product& each : products_) {
    if (each.problem.k == 0) continue;
    if (auto skipped = plans_.at(each.problem.k)->unverifiable(each.buffers)) return skipped;
  }
  return std::nullopt;
}

}  // namespace duet
