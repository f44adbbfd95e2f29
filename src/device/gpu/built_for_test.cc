#include "device/gpu/built_for.h"

#include <gtest/gtest.h>

namespace duet::gpu {
namespace {

TEST(BuiltFor, RealCodeRunsOnItsMajorVersionFromItsMinorOneOn) {
  EXPECT_TRUE(has_cuda_code("80-real", 8, 0));
  EXPECT_TRUE(has_cuda_code("80-real", 8, 9));
  EXPECT_FALSE(has_cuda_code("86-real", 8, 0));
  EXPECT_FALSE(has_cuda_code("80-real", 9, 0));
  EXPECT_TRUE(has_cuda_code("100-real", 10, 3));
  EXPECT_FALSE(has_cuda_code("100-real", 12, 0));
}

TEST(BuiltFor, CodeOfOneArchitectureRunsThereAlone) {
  EXPECT_TRUE(has_cuda_code("90a-real", 9, 0));
  EXPECT_FALSE(has_cuda_code("90a-real", 10, 0));
  EXPECT_FALSE(has_cuda_code("100a-real", 10, 3));
  EXPECT_FALSE(has_cuda_code("90a", 10, 0));
  EXPECT_TRUE(has_cuda_code("100f-real", 10, 3));
  EXPECT_FALSE(has_cuda_code("100f", 12, 0));
}

TEST(BuiltFor, VirtualCodeRunsOnAllThatFollow) {
  EXPECT_TRUE(has_cuda_code("90a-real,90-virtual", 12, 0));
  EXPECT_FALSE(has_cuda_code("90a-real,90-virtual", 8, 9));
  EXPECT_TRUE(has_cuda_code("80", 12, 0));
}

TEST(BuiltFor, AListRunsWhereOneOfItDoes) {
  EXPECT_TRUE(has_cuda_code("80-real,90a-real", 8, 0));
  EXPECT_FALSE(has_cuda_code("80-real,90a-real", 7, 5));
  EXPECT_TRUE(has_cuda_code("all-major", 7, 5));
  EXPECT_FALSE(has_cuda_code("", 9, 0));
}

TEST(BuiltFor, NamesTheGpuAndWhatToSet) {
  EXPECT_EQ(no_cuda_code("90a-real", "NVIDIA A100", 8, 0),
            "NVIDIA A100 (compute capability 8.0): this build has code for 90a; configure with "
            "-DDUET_CUDA_ARCHITECTURES=80-real");
  EXPECT_EQ(no_cuda_code("90a-real,90-virtual", "NVIDIA L40S", 8, 9),
            "NVIDIA L40S (compute capability 8.9): this build has code for 90a, 90 and newer; "
            "configure with -DDUET_CUDA_ARCHITECTURES=89-real");
}

TEST(BuiltFor, HipCodeRunsOnItsProcessor) {
  EXPECT_TRUE(has_hip_code("gfx90a,gfx942", "gfx942:sramecc+:xnack-"));
  EXPECT_TRUE(has_hip_code("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(has_hip_code("gfx90a", "gfx942:sramecc+:xnack-"));
  EXPECT_TRUE(has_hip_code("gfx9-4-generic", "gfx942"));
  EXPECT_EQ(no_hip_code("gfx90a", "AMD Instinct MI300X", "gfx942:sramecc+:xnack-"),
            "AMD Instinct MI300X (gfx942): this build has code for gfx90a; configure with "
            "-DDUET_HIP_ARCHITECTURES=gfx942");
}

}  // namespace
}  // namespace duet::gpu
