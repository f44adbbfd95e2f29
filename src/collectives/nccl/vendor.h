// Names of the library that this build of the folder drives, and from which of its versions on it
// does what a mode needs, in the form of ncclGetVersion. The folder is compiled once for NCCL and
// once for RCCL, which differ in these only.
#pragma once

namespace duet::nccl {

#ifdef DUET_NCCL_IS_RCCL
constexpr bool kIsRccl = true;
constexpr const char* kProduct = "RCCL";
constexpr const char* kPrefix = "rccl";  // of engine names
constexpr const char* kDeviceKind = "hip";
constexpr const char* kFile = "librccl.so.1";
// Earlier ones take no notice of maxCTAs where links want more channels (rocm-systems' pull request
// 7604).
constexpr int kCappedSince = 23007;
constexpr const char* kInsteadOfCap = "; NCCL_MAX_NCHANNELS caps all communicators of a process";
// 2.27.7 has the functions without symmetric memory (release notes of ROCm 7.1).
constexpr int kWindowsSince = 22803, kZeroCtaSince = 22803;
constexpr const char* kWindowsNeed = " (gfx942 and gfx950 need NCCL_CUMEM_ENABLE=1)";
// The versions whose all_to_all of one rank does not end (release notes of ROCm 7.2 and 7.11).
constexpr int kNoAllToAllAloneSince = 22707, kNoAllToAllAloneUntil = 22803;
#else
constexpr bool kIsRccl = false;
constexpr const char* kProduct = "NCCL";
constexpr const char* kPrefix = "nccl";
constexpr const char* kDeviceKind = "cuda";
constexpr const char* kFile = "libnccl.so.2";
// From NCCL's release notes.
constexpr int kCappedSince = 21700;
constexpr const char* kInsteadOfCap = "";
constexpr int kWindowsSince = 22700, kZeroCtaSince = 22800;
constexpr const char* kWindowsNeed = "";
constexpr int kNoAllToAllAloneSince = 1, kNoAllToAllAloneUntil = 0;  // none
#endif

}  // namespace duet::nccl
