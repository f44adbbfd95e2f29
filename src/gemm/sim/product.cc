#include "gemm/sim/product.h"

#include "gemm/reference.h"

namespace duet {
namespace {

constexpr double kLargestComputed = 2e9;  // FLOP of the reference: about a second on two cores

}  // namespace

Skipped simulated_product_too_large() {
  return Skipped{"simulated: products this large are not computed"};
}

std::optional<Skipped> SimulatedProduct::unverifiable(const GemmBuffers& buffers) const {
  for (const Span& span : {buffers.a, buffers.b, buffers.c, buffers.aux.value_or(buffers.c)}) {
    if (!device_.has_contents(span)) return Skipped{"simulated memory holds no contents"};
  }
  if (problem_.scaled) return Skipped{"simulated: scaled products are not computed"};
  if (flop(problem_) > kLargestComputed) return simulated_product_too_large();
  return std::nullopt;
}

void SimulatedProduct::write(const GemmBuffers& buffers) {
  const std::vector<std::byte>& product = multiply(buffers);
  if (problem_.epilogue != Epilogue::none) return write_with_epilogue(buffers, product);
  if (problem_.accumulate) return write_sum(buffers.c, product);
  device_.write(buffers.c, product.data());
}

void SimulatedProduct::write_sum(const Span& c, const std::vector<std::byte>& product) {
  std::vector<std::byte> sum(c.bytes);
  device_.read(c, sum.data());
  const std::size_t size = size_of(problem_.output);
  for (std::size_t at = 0; at < sum.size(); at += size) {
    store(problem_.output, sum.data() + at,
          load(problem_.output, sum.data() + at) + load(problem_.output, product.data() + at));
  }
  device_.write(c, sum.data());
}

void SimulatedProduct::write_with_epilogue(const GemmBuffers& buffers,
                                           const std::vector<std::byte>& product) {
  if (problem_.epilogue == Epilogue::gelu) device_.write(*buffers.aux, product.data());
  std::vector<std::byte> auxiliary(buffers.aux->bytes), result(buffers.c.bytes);
  device_.read(*buffers.aux, auxiliary.data());
  const std::size_t size = size_of(problem_.output);
  for (std::size_t at = 0; at < result.size(); at += size) {
    const double value = load(problem_.output, product.data() + at);
    const double beside = load(problem_.output, auxiliary.data() + at);
    store(problem_.output, result.data() + at,
          static_cast<float>(after_epilogue(problem_.epilogue, value, beside)));
  }
  device_.write(buffers.c, result.data());
}

// Computes the product only if the input has changed since the last call, which is rare.
const std::vector<std::byte>& SimulatedProduct::multiply(const GemmBuffers& buffers) {
  Known& known = known_[buffers.c.data];
  std::vector<std::byte> input(buffers.a.bytes + buffers.b.bytes);
  device_.read(buffers.a, input.data());
  device_.read(buffers.b, input.data() + buffers.a.bytes);
  if (input == known.input) return known.product;
  known.input = std::move(input);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(problem_.m));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  GemmProblem plain = problem_;
  plain.epilogue = Epilogue::none;
  const std::vector<double> c = reference_by_cpu(device_, plain, buffers, rows);
  const std::size_t size = size_of(problem_.output);
  known.product.resize(c.size() * size);
  for (std::size_t i = 0; i < c.size(); ++i) {
    store(problem_.output, known.product.data() + i * size, static_cast<float>(c[i]));
  }
  return known.product;
}

}  // namespace duet
