// Names of the library that this build of the folder drives. The folder is compiled once for NCCL
// and once for RCCL, which differ in names only.
#pragma once

namespace duet::nccl {

#ifdef DUET_NCCL_IS_RCCL
constexpr bool kIsRccl = true;
constexpr const char* kProduct = "RCCL";
constexpr const char* kPrefix = "rccl";  // of engine names
constexpr const char* kDeviceKind = "hip";
constexpr const char* kFile = "librccl.so.1";
#else
constexpr bool kIsRccl = false;
constexpr const char* kProduct = "NCCL";
constexpr const char* kPrefix = "nccl";
constexpr const char* kDeviceKind = "cuda";
constexpr const char* kFile = "libnccl.so.2";
#endif

}  // namespace duet::nccl
