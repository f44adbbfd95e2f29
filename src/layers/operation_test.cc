#include "layers/operation.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

TEST(LayerOperations, OfAModelAreDividedAmongRanks) {
  const auto all = layers_of("llama70b", 8192, layer_kinds(), DType::bf16);
  ASSERT_EQ(all.size(), 15u);
  EXPECT_EQ(all[1].part, "llama70b gate+up");
  const LayerOperation &gate_up = all[1].operations[0], &down = all[3].operations[0];
  EXPECT_EQ(name(problem_of(gate_up, 2)), "8192x28672x8192 bf16 nt");
  EXPECT_EQ(name(problem_of(down, 2)), "8192x8192x14336 bf16 nt");

  const Collective gather = collective_of(gate_up, 2, 2, RowSums::by_compute);
  EXPECT_EQ(gather.kind, CollectiveKind::all_gather);
  EXPECT_EQ(gather.count, 4096u * 8192);
  EXPECT_EQ(gather.rows.columns, 8192u);
  const Collective scatter = collective_of(down, 2, 1, RowSums::in_slots);
  EXPECT_EQ(scatter.kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(scatter.count, 4096u * 8192);
  EXPECT_EQ(collective_of(all[5].operations[0], 2, 1, RowSums::in_slots).count, 8192u * 8192);

  EXPECT_EQ(collective_of(all[8].operations[0], 2, 0, RowSums::in_slots).count, 8192u * 8192);
  EXPECT_EQ(name(problem_of(all[11].operations[0], 2)), "57344x8192x4096 bf16 tn");
  EXPECT_EQ(collective_of(all[11].operations[0], 2, 1, RowSums::by_compute).count, 28672u * 8192);
  EXPECT_EQ(all[13].kind, kMlp);
  EXPECT_TRUE(all[13].activates);
  EXPECT_EQ(all[13].operations[0].part, "llama70b gate+up");
  EXPECT_EQ(all[14].operations[1].part, "llama70b o");
}

TEST(LayerOperations, OfFp8MoveBytesAndSumBf16) {
  LayerOperation operation{LayerKind::gather_gemm, "64x64x64", 64, 64, 64, DType::fp8_e4m3};
  EXPECT_EQ(collective_of(operation, 2, 1, RowSums::by_compute).dtype, DType::int8);
  EXPECT_EQ(problem_of(operation, 2).output, DType::bf16);
  operation.kind = LayerKind::gemm_scatter;
  EXPECT_EQ(collective_of(operation, 2, 1, RowSums::by_compute).dtype, DType::bf16);
}

TEST(LayerOperations, AreRefusedWhereRanksDoNotDivideThem) {
  const auto layer = [](const char* kind, std::int64_t m, std::int64_t n, std::int64_t k) {
    return layer_of(m, n, k, kind, DType::fp32);
  };
  EXPECT_THROW(check(layer("gather-gemm", 64, 63, 63), 3), UsageError);
  EXPECT_THROW(check(layer("gather-gemm", 63, 64, 63), 3), UsageError);
  EXPECT_THROW(check(layer("gemm-scatter", 63, 63, 64), 3), UsageError);
  EXPECT_THROW(check(layer("gemm-reduce", 64, 63, 64), 3), UsageError);
  EXPECT_THROW(check(layer("gemm-scatter", 0, 63, 63), 3), UsageError);
  EXPECT_THROW(check(layer("mlp", 63, 63, 63), 3), UsageError);  // gate and up have as many columns
  EXPECT_THROW(check(layer("gather-gemm", 63, 63, 63), 3), UsageError);  // rows of 252 bytes
  EXPECT_NO_THROW(check(layer("gemm-reduce", 64, 64, 48), 3));
  EXPECT_NO_THROW(check(layer("mlp", 63, 72, 60), 3));
  EXPECT_THROW(layer("attention", 64, 64, 64), UsageError);
  EXPECT_THROW(layer("mpl", 64, 64, 64), UsageError);
  EXPECT_THROW(layers_of("llama7", 8, layer_kinds(), DType::fp32), UsageError);
}

}  // namespace
}  // namespace duet
