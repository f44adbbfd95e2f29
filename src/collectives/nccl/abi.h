// The part of the binary interface of NCCL and RCCL that Duet uses, declared here after NVIDIA's
// NCCL API Reference (2.28; what is later says so). Building therefore needs no header of theirs,
// and one build runs with any version.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace duet::nccl {

using Comm = struct ncclComm*;
using Window = struct ncclWindow_vidmem*;
using NativeStream = void*;  // cudaStream_t, hipStream_t

// ncclResult_t
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kUnhandledDeviceError = 1, kSystemError = 2, kInvalidArgument = 4,
                 kInvalidUsage = 5, kRemoteError = 6, kInProgress = 7;

// ncclDataType_t
using Type = int;
constexpr Type kUint8 = 1, kInt32 = 2, kFloat16 = 6, kFloat32 = 7, kBfloat16 = 9;

// ncclRedOp_t
using Operation = int;
constexpr Operation kSum = 0, kMax = 2, kMin = 3, kAvg = 4;

struct UniqueId {
  char bytes[128];
};

constexpr int kWindowSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
constexpr int kPolicyZeroCta = 2;    // NCCL_CTA_POLICY_ZERO
constexpr int kUndefined = INT_MIN;  // NCCL_CONFIG_UNDEF_INT
constexpr int kNoColor = -1;         // NCCL_SPLIT_NOCOLOR
constexpr int kShrinkAbort = 1;      // NCCL_SHRINK_ABORT

// ncclConfig_t as of 2.28. By `size` and `version` an older library knows which members to ignore,
// and a newer one which members are missing.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 22800;
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
  int traffic_class = kUndefined;
  const char* comm_name = nullptr;
  int collnet_enable = kUndefined;
  int cta_policy = kUndefined;
  int shrink_share = kUndefined;
  int nvls_ctas = kUndefined;
  int channels_per_net_peer = kUndefined;
  int nvlink_centric_schedule = kUndefined;
};

// ncclCollConfig_t, of one call, as of 2.31. Later versions only append members.
struct CallConfig {
  std::size_t size = sizeof(CallConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 23100;
  const void* extensions = nullptr;  // of other vendors' libraries
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  int nvls_ctas = kUndefined;
  int cga_cluster_size = kUndefined;
  const char* algorithms = nullptr;  // which may be used; null or "": any
  int must_use_algorithms = 1;       // 0 or 1
  int cta_policy = kUndefined;
  std::uint64_t profiler_tag = 0;  // the program's, passed on to profilers
};

}  // namespace duet::nccl
