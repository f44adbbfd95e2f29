// The product of a few rows in double. It reads B once and takes 2 x rows x N x K operations on the
// CPU.
#include "gemm/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/random.h"

namespace duet {
namespace {

constexpr std::int64_t kRows = 8;
constexpr std::int64_t kColumns = 256;  // columns of C at a time, so that their sums stay in cache

std::vector<double> converted(DType dtype, const std::byte* data, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  std::vector<double> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    out[static_cast<std::size_t>(i)] = static_cast<double>(load(dtype, data + i * size));
  }
  return out;
}

// Columns first .. last - 1 of C, for all rows.
struct Columns {
  std::int64_t first = 0, last = 0;
};

void add_columns_nn(const GemmProblem& p, const std::vector<double>& a, const std::byte* b,
                    Columns columns, std::vector<double>& c) {
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t rows = static_cast<std::int64_t>(a.size()) / p.k;
  for (std::int64_t k = 0; k < p.k; ++k) {
    const std::vector<double> line =
        converted(p.dtype, b + (k * p.n + columns.first) * size, columns.last - columns.first);
    for (std::int64_t i = 0; i < rows; ++i) {
      const double factor = a[static_cast<std::size_t>(i * p.k + k)];
      double* out = c.data() + i * p.n + columns.first;
      for (std::size_t j = 0; j < line.size(); ++j) out[j] += factor * line[j];
    }
  }
}

void add_columns_nt(const GemmProblem& p, const std::vector<double>& a, const std::byte* b,
                    Columns columns, std::vector<double>& c) {
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t rows = static_cast<std::int64_t>(a.size()) / p.k;
  for (std::int64_t j = columns.first; j < columns.last; ++j) {
    const std::vector<double> line = converted(p.dtype, b + j * p.k * size, p.k);
    for (std::int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < line.size(); ++k) {
        sum += a[static_cast<std::size_t>(i * p.k) + k] * line[k];
      }
      c[static_cast<std::size_t>(i * p.n + j)] = sum;
    }
  }
}

// The unit roundoff of a value that is rounded to nearest.
double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return std::ldexp(1.0, -11);
    case DType::bf16:
      return std::ldexp(1.0, -8);
    case DType::fp8_e4m3:
      return std::ldexp(1.0, -4);
    default:
      return std::ldexp(1.0, -24);
  }
}

// The largest error of a sum of K products, in units of its standard deviation sqrt(K).
double sum_error(const GemmProblem& p) {
  const auto k = static_cast<double>(p.k);
  switch (p.dtype) {
    case DType::tf32:
      // Each factor is truncated to 10 bits of mantissa and loses up to 2^-10. Over K random
      // products one sigma is 2^-10 x sqrt(2) of sqrt(K); 5 sigma are allowed.
      return std::ldexp(8.0, -10) + std::ldexp(k, -23);
    case DType::fp8_e4m3:
      // Hopper's tensor cores add products of fp8 with about 13 bits of mantissa, 32 of k at a
      // time (DeepSeek-V3 technical report, 3.3.2).
      return std::ldexp(1.0, -8) + std::ldexp(k / 32, -13);
    default:
      // Each of K additions truncates up to 2^-23 of a partial sum, which grows as sqrt(i). The
      // total is at most 2/3 x K x 2^-23 of sqrt(K).
      return std::ldexp(k, -23);
  }
}

// Rows of an A that is stored as (M, K).
std::vector<std::byte> rows_of(Device& device, const GemmProblem& p, const Span& a,
                               const std::vector<std::int64_t>& rows) {
  const std::size_t row_bytes = static_cast<std::size_t>(p.k) * size_of(p.dtype);
  std::vector<std::byte> found(rows.size() * row_bytes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t offset = static_cast<std::size_t>(rows[i]) * row_bytes;
    device.read(a.slice(offset, row_bytes), found.data() + i * row_bytes);
  }
  return found;
}

// The same of an A that is stored as (K, M): its columns.
std::vector<std::byte> columns_of(Device& device, const GemmProblem& p, const Span& a,
                                  const std::vector<std::int64_t>& rows) {
  const std::size_t size = size_of(p.dtype), k = static_cast<std::size_t>(p.k),
                    step = static_cast<std::size_t>(row_step_of_a(p));
  std::vector<std::byte> all(a.bytes), found(rows.size() * k * size);
  device.read(a, all.data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::byte* column = all.data() + static_cast<std::size_t>(rows[i]) * size;
    for (std::size_t j = 0; j < k; ++j) {
      std::copy_n(column + j * step * size, size, found.data() + (i * k + j) * size);
    }
  }
  return found;
}

double element(DType dtype, const std::byte* data) {
  if (dtype != DType::int32) return static_cast<double>(load(dtype, data));
  std::int32_t value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

}  // namespace

std::vector<double> reference_rows(const GemmProblem& p, const std::byte* a, const std::byte* b,
                                   std::int64_t rows) {
  const std::vector<double> factors = converted(p.dtype, a, rows * p.k);
  std::vector<double> c(static_cast<std::size_t>(rows * p.n));
#pragma omp parallel for schedule(dynamic, 1)
  for (std::int64_t first = 0; first < p.n; first += kColumns) {
    const Columns columns{first, std::min(first + kColumns, p.n)};
    if (p.layout == Layout::nt) {
      add_columns_nt(p, factors, b, columns, c);
    } else {
      add_columns_nn(p, factors, b, columns, c);
    }
  }
  return c;
}

std::vector<double> reference_by_cpu(Device& device, const GemmProblem& p,
                                     const GemmBuffers& buffers,
                                     const std::vector<std::int64_t>& rows) {
  const std::vector<std::byte> a = p.layout == Layout::tn ? columns_of(device, p, buffers.a, rows)
                                                          : rows_of(device, p, buffers.a, rows);
  const auto count = static_cast<std::int64_t>(rows.size());
  if (device.info().cpu_addressable) return reference_rows(p, a.data(), buffers.b.data, count);
  std::vector<std::byte> b(buffers.b.bytes);
  device.read(buffers.b, b.data());
  return reference_rows(p, a.data(), b.data(), count);
}

double tolerance(const GemmProblem& p, double product, double addend) {
  if (p.dtype == DType::int8) return 0;
  const double rounding = 2 * unit_roundoff(p.output) * (std::abs(product) + std::abs(addend));
  return rounding + sum_error(p) * std::sqrt(static_cast<double>(p.k));
}

std::vector<double> row_values(Device& device, const Span& matrix, std::int64_t columns,
                               DType dtype, std::int64_t row) {
  const std::size_t size = size_of(dtype), bytes = static_cast<std::size_t>(columns) * size;
  std::vector<std::byte> data(bytes);
  device.read(matrix.slice(static_cast<std::size_t>(row) * bytes, bytes), data.data());
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes; at += size)
    values.push_back(element(dtype, data.data() + at));
  return values;
}

std::vector<std::int64_t> sampled_rows(std::int64_t m) {
  std::vector<std::int64_t> rows;
  if (m <= kRows) {
    for (std::int64_t i = 0; i < m; ++i) rows.push_back(i);
    return rows;
  }
  // One row from each eighth of C, at a random place, so that the rows are not all at the same
  // place in their tiles.
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t begin = m * i / kRows, end = m * (i + 1) / kRows;
    const auto jitter = random_word(static_cast<std::uint64_t>(m), static_cast<std::uint64_t>(i));
    rows.push_back(begin +
                   static_cast<std::int64_t>(jitter % static_cast<std::uint64_t>(end - begin)));
  }
  rows.front() = 0;
  rows.back() = m - 1;
  return rows;
}

}  // namespace duet
