#include "layers/bound.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

Layer layer(LayerKind kind, DType dtype = DType::bf16) {
  return {"", "", {{kind, "", 8192, 4096, 2048, dtype}}};
}

// The link's 400 GB/s, all of which a copy engine reaches.
DeviceSpec device() {
  DeviceSpec spec;
  spec.link = LinkSpec{"NVLink", false, 4, 400};
  spec.watts_above_idle = 500;
  spec.dma_joules_per_gb = 0.3;
  return spec;
}

TEST(LayerBound, RanksSendWhatTheOthersDoNotHave) {
  EXPECT_DOUBLE_EQ(sent_bytes(layer(LayerKind::gather_gemm), 2), 8192. * 2048 * 2 / 2);
  EXPECT_DOUBLE_EQ(sent_bytes(layer(LayerKind::gather_gemm, DType::fp8_e4m3), 4),
                   8192. * 2048 * 3 / 4);
  EXPECT_DOUBLE_EQ(sent_bytes(layer(LayerKind::gemm_scatter, DType::fp8_e4m3), 4),
                   8192. * 4096 * 2 * 3 / 4);
  EXPECT_DOUBLE_EQ(sent_bytes(layer(LayerKind::gemm_reduce), 2), 8192. * 4096 * 2);
  EXPECT_EQ(sent_bytes(layer(LayerKind::gemm_reduce), 1), 0);
}

TEST(LayerBound, IsTheLongerOfBothAndThePowerOfWhatIsSent) {
  const Layer scatter = layer(LayerKind::gemm_scatter);
  const double sent = sent_bytes(scatter, 2), power = 0.3e-9 * sent / (3 * 500);
  EXPECT_DOUBLE_EQ(*bound_seconds(scatter, 2, 1, device()), 1 + power);
  EXPECT_DOUBLE_EQ(*bound_seconds(scatter, 2, 1e-6, device()), sent / 400e9 + power);
}

TEST(LayerBound, InAMeshALinkLeadsToOnePeer) {
  DeviceSpec spec = device();
  spec.link->mesh = true;
  spec.dma_joules_per_gb = 0;
  const Layer scatter = layer(LayerKind::gemm_scatter);
  EXPECT_DOUBLE_EQ(*bound_seconds(scatter, 2, 0, spec), sent_bytes(scatter, 2) / 100e9);
  EXPECT_DOUBLE_EQ(*bound_seconds(scatter, 4, 0, spec), sent_bytes(scatter, 4) / 300e9);
}

TEST(LayerBound, NothingIsKnownWithoutLinks) {
  DeviceSpec spec = device();
  spec.link.reset();
  EXPECT_FALSE(bound_seconds(layer(LayerKind::gather_gemm), 2, 1, spec));
  EXPECT_FALSE(bound_seconds(layer(LayerKind::gather_gemm), 1, 1, device()));
}

}  // namespace
}  // namespace duet
