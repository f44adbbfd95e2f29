#include "gemm/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.h"
#include "gemm/verification.h"

namespace duet {
namespace {

std::uint64_t bytes_of_one_b(const GroupedGemmProblem& problem) {
  return matrix_bytes(problem.k, problem.n, problem.dtype);
}

// A part of A or C begins at any row, one of B behind any other.
int alignment_of_parts(const GroupedGemmProblem& problem) {
  const std::uint64_t steps = matrix_bytes(1, problem.k, problem.dtype) |
                              matrix_bytes(1, problem.n, problem.output) | bytes_of_one_b(problem);
  const std::uint64_t lowest = steps & (~steps + 1);  // its lowest bit
  return static_cast<int>(std::min<std::uint64_t>(kMatrixAlignment, lowest));
}

void require_size(const char* matrix, const Span& span, std::uint64_t wanted,
                  const GroupedGemmProblem& problem) {
  if (span.bytes == wanted) return;
  throw BadArgument(fmt::format("grouped GEMM {}: {} has {} bytes, expected {}", name(problem),
                                matrix, span.bytes, wanted));
}

}  // namespace

std::int64_t GroupedGemmProblem::all_rows() const { return first_row(groups()); }

std::int64_t GroupedGemmProblem::rows_of_largest() const {
  return rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
}

std::int64_t GroupedGemmProblem::first_row(std::size_t group) const {
  return std::accumulate(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(group),
                         std::int64_t{0});
}

double flop(const GroupedGemmProblem& problem) {
  return 2.0 * static_cast<double>(problem.all_rows()) * static_cast<double>(problem.n) *
         static_cast<double>(problem.k);
}

double bytes(const GroupedGemmProblem& problem) {
  return static_cast<double>(bytes_of_a(problem) + bytes_of_c(problem)) +
         static_cast<double>(filled_groups(problem).size()) *
             static_cast<double>(bytes_of_one_b(problem));
}

std::string name(const GroupedGemmProblem& problem) {
  return fmt::format("{} rows in {} groups x {}x{} {} {}", problem.all_rows(), problem.groups(),
                     problem.n, problem.k, name(problem.dtype), name(problem.layout));
}

std::uint64_t bytes_of_a(const GroupedGemmProblem& problem) {
  return matrix_bytes(problem.all_rows(), problem.k, problem.dtype);
}

std::uint64_t bytes_of_b(const GroupedGemmProblem& problem) {
  return problem.groups() * bytes_of_one_b(problem);
}

std::uint64_t bytes_of_c(const GroupedGemmProblem& problem) {
  return matrix_bytes(problem.all_rows(), problem.n, problem.output);
}

GemmProblem product_of(const GroupedGemmProblem& problem, std::size_t group) {
  GemmProblem product{problem.rows.at(group), problem.n,      problem.k,
                      problem.dtype,          problem.output, problem.layout};
  product.alignment = alignment_of_parts(problem);
  return product;
}

GemmBuffers part_of(const GroupedGemmProblem& problem, const GemmBuffers& buffers,
                    std::size_t group) {
  const std::int64_t first = problem.first_row(group), rows = problem.rows.at(group);
  const std::uint64_t b = bytes_of_one_b(problem);
  return {buffers.a.slice(matrix_bytes(first, problem.k, problem.dtype),
                          matrix_bytes(rows, problem.k, problem.dtype)),
          buffers.b.slice(group * b, b),
          buffers.c.slice(matrix_bytes(first, problem.n, problem.output),
                          matrix_bytes(rows, problem.n, problem.output))};
}

std::vector<std::size_t> filled_groups(const GroupedGemmProblem& problem) {
  std::vector<std::size_t> filled;
  for (std::size_t group = 0; group < problem.groups(); ++group) {
    if (problem.rows[group] > 0) filled.push_back(group);
  }
  return filled;
}

Tuning tuning_of_each(Tuning tuning, const std::vector<std::int64_t>& rows) {
  std::set<std::int64_t> sizes(rows.begin(), rows.end());
  sizes.erase(0);
  tuning.seconds /= static_cast<double>(std::max<std::size_t>(1, sizes.size()));
  return tuning;
}

void check(const GroupedGemmProblem& problem, const GemmBuffers& buffers) {
  const bool negative = std::any_of(problem.rows.begin(), problem.rows.end(),
                                    [](std::int64_t rows) { return rows < 0; });
  if (negative || problem.n < 1 || problem.k < 1) {
    throw BadArgument(
        fmt::format("grouped GEMM {}: expected N and K of at least 1 and no group of less than 0 "
                    "rows",
                    name(problem)));
  }
  if (problem.layout == Layout::tn) {
    throw BadArgument(fmt::format("grouped GEMM {}: expected layout nn or nt", name(problem)));
  }
  require_size("A", buffers.a, bytes_of_a(problem), problem);
  require_size("B", buffers.b, bytes_of_b(problem), problem);
  require_size("C", buffers.c, bytes_of_c(problem), problem);
}

}  // namespace duet
