#include "gemm/product_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "gemm/reference.h"

namespace duet {
namespace {

constexpr std::size_t kChunk = 16 << 20;  // bytes of C that are searched for poison at a time
constexpr std::size_t kMostChunks = 64;   // of a C above 1 GiB, this many chunks, evenly spread

// The index of the first element of `size` bytes that consists of poison, or -1.
std::int64_t find_poison(const std::vector<std::byte>& data, std::size_t bytes, std::size_t size,
                         std::byte poisoned) {
  for (std::size_t i = 0; i + size <= bytes; i += size) {
    std::size_t j = 0;
    while (j < size && data[i + j] == poisoned) ++j;
    if (j == size) return static_cast<std::int64_t>(i / size);
  }
  return -1;
}

void require_written(const CheckedProduct& product) {
  const GemmProblem& problem = product.problem;
  const Span& c = product.buffers.c;
  const std::size_t chunks = (c.bytes + kChunk - 1) / kChunk;
  const std::size_t looked_at = std::min(chunks, kMostChunks);
  const std::size_t size = size_of(problem.output);
  std::vector<std::byte> data(std::min<std::size_t>(kChunk, c.bytes));
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::size_t offset = looked_at < 2 ? 0 : (chunks - 1) * i / (looked_at - 1) * kChunk;
    const std::size_t length = std::min(kChunk, c.bytes - offset);
    product.device.read(c.slice(offset, length), data.data());
    const std::int64_t at =
        find_poison(data, length, size, static_cast<std::byte>(product_poison(problem.output)));
    if (at < 0) continue;
    const std::int64_t index = at + static_cast<std::int64_t>(offset / size);
    throw Mismatch(fmt::format("{} on {}: {}: C({}, {}) was never written", product.engine,
                               product.device.info().name, name(problem), index / problem.n,
                               index % problem.n));
  }
}

struct Element {
  const char* what;  // "C"
  std::int64_t row, column;
};

void require_near(const CheckedProduct& product, const Element& element, double got, double wanted,
                  double allowed) {
  if (std::abs(got - wanted) <= allowed) return;  // false for NaN
  throw Mismatch(fmt::format("{} on {}: {}: {}({}, {}) is {}, expected {} +- {:.2g}",
                             product.engine, product.device.info().name, name(product.problem),
                             element.what, element.row, element.column, got, wanted, allowed));
}

void require_rows(const CheckedProduct& product) {
  const GemmProblem& problem = product.problem;
  Device& device = product.device;
  const std::vector<std::int64_t> rows = sampled_rows(problem.m);
  const std::vector<double> products =
      gemm_reference(device.info().kind)(device, problem, product.buffers, rows);
  const Epilogue epilogue = problem.epilogue;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto values = [&](const Span& matrix) {
      return row_values(device, matrix, problem.n, problem.output, rows[i]);
    };
    const std::vector<double> got = values(product.buffers.c);
    std::vector<double> aux(got.size());
    if (epilogue != Epilogue::none) aux = values(*product.buffers.aux);
    for (std::size_t j = 0; j < got.size(); ++j) {
      const std::size_t at = i * got.size() + j;
      const double expected = products[at];
      const double addend = product.initial.empty() ? 0 : product.initial[at];
      const double allowed = tolerance(problem, expected, addend);
      const auto column = static_cast<std::int64_t>(j);
      if (epilogue == Epilogue::gelu) {
        require_near(product, {"aux", rows[i], column}, aux[j], expected, allowed);
      }
      require_near(product, {"C", rows[i], column}, got[j],
                   after_epilogue(epilogue, expected, aux[j]) + addend,
                   epilogue == Epilogue::none ? allowed : kSteepestGelu * allowed);
    }
  }
}

}  // namespace

std::uint64_t product_poison(DType output) { return output == DType::int32 ? 0x80 : 0xFF; }

void require_product(const CheckedProduct& product) {
  if (!product.problem.accumulate) require_written(product);
  require_rows(product);
}

}  // namespace duet
