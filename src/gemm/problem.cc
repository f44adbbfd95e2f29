#include "gemm/problem.h"

#include <fmt/format.h>

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<Layout> kLayouts[] = {
    {Layout::nn, "nn"}, {Layout::nt, "nt"}, {Layout::tn, "tn"}};

}  // namespace

std::string_view name(Layout layout) { return name_of(kLayouts, layout); }

Layout parse_layout(std::string_view text) { return parse_name(kLayouts, "unknown layout", text); }

DType default_output(DType dtype) {
  switch (dtype) {
    case DType::fp8_e4m3:
      return DType::bf16;
    case DType::int8:
      return DType::int32;
    case DType::tf32:
      return DType::fp32;
    default:
      return dtype;
  }
}

double flop(const GemmProblem& p) {
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

double bytes(const GemmProblem& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  return static_cast<double>(size_of(p.dtype)) * (m * k + k * n) +
         static_cast<double>(size_of(p.output)) * m * n *
             (p.accumulate || p.epilogue != Epilogue::none ? 2 : 1);
}

std::int64_t row_step_of_a(const GemmProblem& p) {
  if (p.layout != Layout::tn) return p.k;
  return p.a_columns > 0 ? p.a_columns : p.m;
}

std::string name(const GemmProblem& p) {
  std::string text = fmt::format("{}x{}x{} {} {}", p.m, p.n, p.k, name(p.dtype), name(p.layout));
  if (p.a_columns > 0) text += fmt::format(" of {} columns", p.a_columns);
  if (p.a_is_e5m2) text += " by e5m2";
  if (p.scaled) text += " scaled";
  if (p.fast_sums) text += " with fast sums";
  if (p.accumulate) text += " accumulated";
  if (p.epilogue != Epilogue::none) text += fmt::format(" {}", name(p.epilogue));
  return text;
}

}  // namespace duet
