// Parsing of shapes and sets, and how they merge; names and costs of problems.
#include "gemm/shapes.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/message_fixture.h"
#include "gemm/problem.h"

namespace duet {
namespace {

const GemmShape* find(const std::vector<GemmShape>& shapes, std::int64_t m, std::int64_t n,
                      std::int64_t k) {
  for (const GemmShape& shape : shapes) {
    if (shape.m == m && shape.n == n && shape.k == k) return &shape;
  }
  return nullptr;
}

TEST(Shapes, ReadsAList) {
  const auto shapes = parse_shapes("64x32x16, 1x2x3");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].m, 64);
  EXPECT_EQ(shapes[0].n, 32);
  EXPECT_EQ(shapes[0].k, 16);
  EXPECT_EQ(shapes[1].k, 3);
  EXPECT_EQ(shapes[1].sets, std::vector<std::string>{"custom"});
}

TEST(Shapes, RefusesNonsenseAndSaysWhatItExpected) {
  for (const char* text : {"", "64", "64x32", "64x32x16x8", "0x1x1", "-4x4x4", "4x4x4k", "seeds",
                           "4x4x4,", "x4x4", "4.5x4x4", "99999999x1x1"}) {
    EXPECT_THROW(parse_shapes(text), UsageError) << text;
  }
  const std::string message = message_of<UsageError>([&] { parse_shapes("64x32"); });
  EXPECT_TRUE(contains(message, "64x32"));
  EXPECT_TRUE(contains(message, "MxNxK"));
  EXPECT_TRUE(contains(message, "seed"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(Shapes, TheSeedListIsReadBothWays) {
  EXPECT_NE(find(parse_shapes("seed"), 16384, 8192, 7168), nullptr);
  const auto llama = parse_shapes("llama");
  EXPECT_EQ(llama.size(), 7u);
  EXPECT_NE(find(llama, 16384, 7168, 8192), nullptr);
  EXPECT_NE(find(llama, 16384, 1280, 8192), nullptr);
  EXPECT_EQ(find(llama, 16384, 8192, 7168), nullptr);
}

TEST(Shapes, AShapeOfSeveralSetsIsListedOnce) {
  const auto shapes = parse_shapes("seed,llama,squares,c3,8192x8192x8192");
  std::size_t cubes = 0;
  for (const GemmShape& shape : shapes) {
    cubes += shape.m == 8192 && shape.n == 8192 && shape.k == 8192 ? 1u : 0u;
  }
  EXPECT_EQ(cubes, 1u);
  const std::vector<std::string> all{"seed", "llama", "squares", "c3", "custom"};
  EXPECT_EQ(find(shapes, 8192, 8192, 8192)->sets, all);
  EXPECT_EQ(find(shapes, 4096, 4096, 4096)->sets,
            (std::vector<std::string>{"seed", "llama", "squares"}));
  EXPECT_EQ(parse_shapes("seed,seed").size(), 7u);
}

TEST(Shapes, EveryNamedSetCanBeParsed) {
  for (const std::string& name : shape_set_names())
    EXPECT_FALSE(parse_shapes(name).empty()) << name;
  EXPECT_EQ(parse_shapes("c3").size(), 7u);
  EXPECT_NE(find(parse_shapes("c3"), 106496, 8192, 16384), nullptr);
}

TEST(Problem, CostsWhatTheFormulasSay) {
  const GemmProblem p{3, 5, 7, DType::fp8_e4m3, DType::bf16, Layout::nt};
  EXPECT_DOUBLE_EQ(flop(p), 2.0 * 3 * 5 * 7);
  EXPECT_DOUBLE_EQ(bytes(p), 3 * 7 + 5 * 7 + 2 * 3 * 5);
  EXPECT_EQ(name(p), "3x5x7 fp8_e4m3 nt");
}

TEST(Problem, OutputsFollowInputs) {
  EXPECT_EQ(default_output(DType::bf16), DType::bf16);
  EXPECT_EQ(default_output(DType::tf32), DType::fp32);
  EXPECT_EQ(default_output(DType::fp8_e4m3), DType::bf16);
  EXPECT_EQ(default_output(DType::int8), DType::int32);
}

TEST(Problem, LayoutsHaveNames) {
  EXPECT_EQ(parse_layout("nn"), Layout::nn);
  EXPECT_EQ(parse_layout(name(Layout::nt)), Layout::nt);
  EXPECT_EQ(parse_layout(name(Layout::tn)), Layout::tn);
  EXPECT_THROW(parse_layout("tt"), UsageError);
}

}  // namespace
}  // namespace duet
