// The public functions of NCCL 2.28 to 2.31, as X(name), by what the drop-in does with them.
#pragma once

// clang-format would indent such lists further with every line.
// clang-format off

// Defined by the drop-in, as duet_ncclX, and exported also when it is preloaded.
#define DUET_NCCL_WRAPPED(X)                                                            \
  X(ncclAllGather) X(ncclAlltoAll) X(ncclAllReduce) X(ncclBroadcast) X(ncclBcast)       \
  X(ncclReduce) X(ncclReduceScatter) X(ncclGather) X(ncclScatter) X(ncclSend)           \
  X(ncclRecv) X(ncclGroupStart) X(ncclGroupEnd) X(ncclGroupSimulateEnd)                 \
  X(ncclCommInitRank) X(ncclCommInitRankConfig) X(ncclCommInitRankScalable)             \
  X(ncclCommInitAll) X(ncclCommSplit) X(ncclCommShrink) X(ncclCommFinalize)             \
  X(ncclCommDestroy) X(ncclCommAbort) X(ncclCommRevoke) X(ncclCommGetAsyncError)        \
  X(ncclGetLastError)                                                                   \
  /* whose failure in a group is the group's */                                         \
  X(ncclCommWindowRegister) X(ncclDevCommCreate)                                        \
  /* 2.29 */                                                                            \
  X(ncclPutSignal) X(ncclSignal) X(ncclWaitSignal)                                      \
  X(ncclCommGrow) X(ncclCommSuspend) X(ncclCommResume)                                  \
  /* 2.31 */                                                                            \
  X(ncclAllGatherConfig) X(ncclAlltoAllConfig) X(ncclAllReduceConfig)                   \
  X(ncclBroadcastConfig) X(ncclReduceConfig) X(ncclReduceScatterConfig)                 \
  X(ncclGatherConfig) X(ncclScatterConfig)

// Forwarded as they come: exported where the drop-in stands for libnccl.so.2 itself. None of them
// enqueues anything on a stream of the program.
#define DUET_NCCL_PASSED_ON(X)                                                          \
  X(ncclCommRegister) X(ncclCommDeregister)                                             \
  X(ncclMemAlloc) X(ncclMemFree) X(ncclCommWindowDeregister)                            \
  X(ncclRedOpCreatePreMulSum) X(ncclRedOpDestroy) X(ncclCommCount) X(ncclCommCuDevice)  \
  X(ncclCommUserRank) X(ncclGetVersion) X(ncclGetUniqueId) X(ncclGetErrorString)        \
  X(ncclResetDebugInit)                                                                 \
  /* the device API's functions on the host, 2.28 */                                    \
  X(ncclDevCommDestroy) X(ncclTeamWorld) X(ncclTeamLsa)                                 \
  X(ncclTeamRail) X(ncclTeamRankToWorld) X(ncclTeamRankToLsa)                           \
  X(ncclGinBarrierCreateRequirement) X(ncclLLA2ACreateRequirement)                      \
  X(ncclLsaBarrierCreateRequirement) X(ncclLLA2ACalcSlots)                              \
  /* 2.29 */                                                                            \
  X(ncclCommGetUniqueId) X(ncclCommMemStats) X(ncclCommQueryProperties)                 \
  X(ncclWinGetUserPtr) X(ncclGetLsaDevicePointer)                                       \
  X(ncclGetLsaMultimemDevicePointer) X(ncclGetMultimemDevicePointer)                    \
  X(ncclGetPeerDevicePointer) X(ncclGinInboxA2ACreateRequirement)                       \
  X(ncclGinOutboxCreateRequirement)                                                     \
  /* 2.30 */                                                                            \
  X(ncclParamBind) X(ncclParamGetI8) X(ncclParamGetI16) X(ncclParamGetI32)              \
  X(ncclParamGetI64) X(ncclParamGetU8) X(ncclParamGetU16) X(ncclParamGetU32)            \
  X(ncclParamGetU64) X(ncclParamGetStr) X(ncclParamGet) X(ncclParamGetParameter)        \
  X(ncclParamGetAllParameterKeys) X(ncclParamDumpAll)                                   \
  /* logical endpoints, 2.31 */                                                         \
  X(ncclTeamCft) X(ncclTeamCftMultimem) X(ncclCftBarrierCreateRequirement)              \
  X(ncclGetMultimemDeviceLeInfo) X(ncclGetCftDeviceLeInfo) X(ncclGetPeerDeviceLeInfo)

// clang-format on
