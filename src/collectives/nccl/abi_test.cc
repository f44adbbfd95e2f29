// Compares the declarations of abi.h with NCCL's own header, where it is installed.
#include "collectives/nccl/abi.h"

#include <gtest/gtest.h>
#include <nccl.h>

namespace duet::nccl {
namespace {

#define DUET_SAME_PLACE(ours, theirs) \
  static_assert(offsetof(Config, ours) == offsetof(ncclConfig_t, theirs))

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(Result) == sizeof(ncclResult_t) && sizeof(Type) == sizeof(ncclDataType_t) &&
              sizeof(Operation) == sizeof(ncclRedOp_t));
static_assert(kSuccess == ncclSuccess && kUnhandledDeviceError == ncclUnhandledCudaError &&
              kSystemError == ncclSystemError && kInvalidArgument == ncclInvalidArgument &&
              kInvalidUsage == ncclInvalidUsage && kRemoteError == ncclRemoteError &&
              kInProgress == ncclInProgress);
static_assert(kUint8 == ncclUint8 && kInt32 == ncclInt32 && kFloat16 == ncclFloat16 &&
              kFloat32 == ncclFloat32 && kBfloat16 == ncclBfloat16);
static_assert(kSum == ncclSum && kMax == ncclMax && kMin == ncclMin && kAvg == ncclAvg);
static_assert(kUndefined == NCCL_CONFIG_UNDEF_INT && kNoColor == NCCL_SPLIT_NOCOLOR);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
static_assert(kShrinkAbort == NCCL_SHRINK_ABORT);
#endif
DUET_SAME_PLACE(magic, magic);
DUET_SAME_PLACE(version, version);
DUET_SAME_PLACE(blocking, blocking);
DUET_SAME_PLACE(max_ctas, maxCTAs);
DUET_SAME_PLACE(net_name, netName);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
static_assert(kWindowSymmetric == NCCL_WIN_COLL_SYMMETRIC);
static_assert(kPolicyZeroCta == NCCL_CTA_POLICY_ZERO);
DUET_SAME_PLACE(comm_name, commName);
DUET_SAME_PLACE(cta_policy, CTAPolicy);
DUET_SAME_PLACE(nvls_ctas, nvlsCTAs);
#endif

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 31, 0)
static_assert(sizeof(CallConfig) <= sizeof(ncclCollConfig_t));
static_assert(offsetof(CallConfig, extensions) == offsetof(ncclCollConfig_t, ext));
static_assert(offsetof(CallConfig, algorithms) == offsetof(ncclCollConfig_t, algSelection));
static_assert(offsetof(CallConfig, cta_policy) == offsetof(ncclCollConfig_t, CTAPolicy));
static_assert(offsetof(CallConfig, profiler_tag) == offsetof(ncclCollConfig_t, userProfilerTag));
#endif

TEST(NcclAbiTest, TheConfigurationStartsAsTheHeaderDoes) {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const Config ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.max_ctas, theirs.maxCTAs);
  EXPECT_LE(ours.size, sizeof(theirs));
}

}  // namespace
}  // namespace duet::nccl
