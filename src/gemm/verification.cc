#include "gemm/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// An element of `what` ("C").
struct Element {
  const char* what;
  std::int64_t row, column;
};

void require_near(const Element& element, double got, double wanted, double allowed,
                  const std::string& whose) {
  if (std::abs(got - wanted) <= allowed) return;  // false for NaN
  throw Mismatch(fmt::format("{}: {}({}, {}) is {}, expected {} +- {:.2g}", whose, element.what,
                             element.row, element.column, got, wanted, allowed));
}

}  // namespace

std::uint64_t poison(DType output) { return output == DType::int32 ? 0x80 : 0xFF; }

std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * size_of(dtype);
}

void require_written(Device& device, const Span& c, std::int64_t columns, DType output,
                     const std::string& whose) {
  const std::size_t chunks = (c.bytes + kChunk - 1) / kChunk;
  const std::size_t looked_at = std::min(chunks, kMostChunks);
  const std::size_t size = size_of(output);
  std::vector<std::byte> data(std::min<std::size_t>(kChunk, c.bytes));
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::size_t offset = looked_at < 2 ? 0 : (chunks - 1) * i / (looked_at - 1) * kChunk;
    const std::size_t length = std::min(kChunk, c.bytes - offset);
    device.read(c.slice(offset, length), data.data());
    const std::int64_t at = find_poison(data, length, size, static_cast<std::byte>(poison(output)));
    if (at < 0) continue;
    const std::int64_t index = at + static_cast<std::int64_t>(offset / size);
    throw Mismatch(
        fmt::format("{}: C({}, {}) was never written", whose, index / columns, index % columns));
  }
}

void require_rows(Device& device, const GemmProblem& problem, const GemmBuffers& buffers,
                  const std::vector<double>& initial, const std::string& whose) {
  const std::vector<std::int64_t> rows = sampled_rows(problem.m);
  const std::vector<double> products =
      gemm_reference(device.info().kind)(device, problem, buffers, rows);
  const Epilogue epilogue = problem.epilogue;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> got =
        row_values(device, buffers.c, problem.n, problem.output, rows[i]);
    std::vector<double> aux(got.size());
    if (epilogue != Epilogue::none)
      aux = row_values(device, *buffers.aux, problem.n, problem.output, rows[i]);
    for (std::size_t j = 0; j < got.size(); ++j) {
      const std::size_t at = i * got.size() + j;
      const double product = products[at], addend = initial.empty() ? 0 : initial[at];
      const double allowed = tolerance(problem, product, addend);
      const auto column = static_cast<std::int64_t>(j);
      if (epilogue == Epilogue::gelu) {
        require_near({"aux", rows[i], column}, aux[j], product, allowed, whose);
      }
      require_near({"C", rows[i], column}, got[j],
                   after_epilogue(epilogue, product, aux[j]) + addend,
                   epilogue == Epilogue::none ? allowed : kSteepestGelu * allowed, whose);
    }
  }
}

}  // namespace duet
