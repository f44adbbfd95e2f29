#include "layers/operation.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

TEST(LayerOperations, OfAModelAreDividedAmongRanks) {
  const auto all = operations_of("llama70b", 8192, all_layer_kinds());
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[1].part, "llama70b gate+up");
  const GemmProblem gate_up = problem_of(all[1], 2), down = problem_of(all[3], 2);
  EXPECT_EQ(name(gate_up), "8192x28672x8192 bf16 nt");
  EXPECT_EQ(name(down), "8192x8192x14336 bf16 nt");

  const Collective gather = collective_of(all[1], 2, 2, RowSums::by_compute);
  EXPECT_EQ(gather.kind, CollectiveKind::all_gather);
  EXPECT_EQ(gather.count, 4096u * 8192);
  EXPECT_EQ(gather.rows.columns, 8192u);
  const Collective scatter = collective_of(all[3], 2, 1, RowSums::in_slots);
  EXPECT_EQ(scatter.kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(scatter.count, 4096u * 8192);
  EXPECT_EQ(collective_of(all[5], 2, 1, RowSums::in_slots).count, 8192u * 8192);
}

TEST(LayerOperations, OfFp8MoveBytesAndSumBf16) {
  LayerOperation operation{LayerKind::gather_gemm, "64x64x64", 64, 64, 64, DType::fp8_e4m3};
  EXPECT_EQ(collective_of(operation, 2, 1, RowSums::by_compute).dtype, DType::int8);
  EXPECT_EQ(problem_of(operation, 2).output, DType::bf16);
  operation.kind = LayerKind::gemm_scatter;
  EXPECT_EQ(collective_of(operation, 2, 1, RowSums::by_compute).dtype, DType::bf16);
}

TEST(LayerOperations, AreRefusedWhereRanksDoNotDivideThem) {
  const auto refused = [](LayerKind kind, std::int64_t m, std::int64_t n, std::int64_t k) {
    EXPECT_THROW(check({kind, "shape", m, n, k}, 3), UsageError) << name(kind);
  };
  refused(LayerKind::gather_gemm, 64, 63, 63);
  refused(LayerKind::gather_gemm, 63, 64, 63);
  refused(LayerKind::gemm_scatter, 63, 63, 64);
  refused(LayerKind::gemm_reduce, 64, 63, 64);
  refused(LayerKind::gemm_scatter, 0, 63, 63);
  EXPECT_NO_THROW(check({LayerKind::gemm_reduce, "shape", 64, 64, 63}, 3));
  EXPECT_THROW(operations_of("llama7", 8, all_layer_kinds()), UsageError);
}

}  // namespace
}  // namespace duet
