#include "gemm/cpu/sgemm_plan.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/message_fixture.h"
#include "device/machine.h"

namespace duet {
namespace {

// The calls that the library below has had; it multiplies by the definition.
std::mutex calls_guard;
std::multiset<std::tuple<std::int64_t, std::int64_t, const float*>> sgemm_calls;  // m, n, c

int plain(const SgemmCall& call) {
  {
    const std::lock_guard<std::mutex> lock(calls_guard);
    sgemm_calls.emplace(call.m, call.n, call.c);
  }
  for (std::int64_t i = 0; i < call.m; ++i) {
    for (std::int64_t j = 0; j < call.n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < call.k; ++l) {
        sum += call.a[call.a_transposed ? l * call.a_step + i : i * call.a_step + l] *
               call.b[call.b_transposed ? j * call.b_step + l : l * call.b_step + j];
      }
      float& c = call.c[i * call.c_step + j];
      c = call.beta * c + sum;
    }
  }
  return 0;
}

int refuses_last_row(const SgemmCall& call) { return call.m == 1 ? 7 : 0; }

// A product of small whole numbers, which have no rounding; C holds ones before it.
class Product {
 public:
  Product(std::int64_t m, std::int64_t n, std::int64_t k, Layout layout, bool accumulate)
      : problem_{m, n, k, DType::fp32, DType::fp32, layout, accumulate},
        a_(values(m * k)),
        b_(values(k * n)),
        c_(static_cast<std::size_t>(m * n), 1.0f) {}

  void run(int threads, bool reproducible, Sgemm multiply = plain) {
    Tuning tuning;
    tuning.reproducible = reproducible;
    const auto plan = plan_sgemm({multiply, "a_sgemm", "sgemm"}, threads, problem_, tuning);
    const auto machine = open_machine("host");
    const auto stream = machine->device(0).make_stream();
    sgemm_calls.clear();
    plan->enqueue(*stream, {span(a_), span(b_), span(c_)});
    stream->synchronize(60);
  }

  const std::vector<float>& c() const { return c_; }

 private:
  static std::vector<float> values(std::int64_t count) {
    std::vector<float> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i * 7 % 5) - 2;
    return all;
  }
  static Span span(std::vector<float>& values) {
    Span span;
    span.data = reinterpret_cast<std::byte*>(values.data());
    span.bytes = values.size() * sizeof(float);
    return span;
  }

  GemmProblem problem_;
  std::vector<float> a_, b_, c_;
};

class Layouts : public ::testing::TestWithParam<Layout> {};

TEST_P(Layouts, TilesAreTheWholeProduct) {
  for (const bool accumulate : {false, true}) {
    Product whole(150, 210, 9, GetParam(), accumulate), tiled(150, 210, 9, GetParam(), accumulate);
    whole.run(3, false);
    EXPECT_EQ(sgemm_calls.size(), 1u);
    tiled.run(3, true);
    EXPECT_GT(sgemm_calls.size(), 1u);
    EXPECT_EQ(whole.c(), tiled.c());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, ::testing::Values(Layout::nn, Layout::nt, Layout::tn),
                         [](const auto& layout) { return std::string(name(layout.param)); });

TEST(SgemmPlan, TilesDoNotDependOnTheNumberOfThreads) {
  for (const std::int64_t size : {5, 100, 700}) {
    Product product(size, size + 3, 2, Layout::nn, false);
    product.run(1, true);
    const auto by_one = sgemm_calls;
    for (const int threads : {2, 3, 16}) {
      product.run(threads, true);
      EXPECT_EQ(sgemm_calls, by_one) << size << ", " << threads << " threads";
    }
  }
}

TEST(SgemmPlan, LargeProductsHaveLargeTiles) {
  const auto elements = [](std::int64_t size) {
    const ProductTile tile = product_tile({size, size, size, DType::fp32, DType::fp32});
    return tile.rows * tile.columns;
  };
  EXPECT_LT(elements(128), elements(1024));
  EXPECT_LT(elements(1024), elements(4096));
}

TEST(SgemmPlan, AFailureOfOneTileIsAnError) {
  Product product(65, 300, 2, Layout::nn, false);
  EXPECT_TRUE(contains(message_of<Error>([&] { product.run(2, true, refuses_last_row); }),
                       "a_sgemm: status 7"));
}

}  // namespace
}  // namespace duet
