// Declarations of the functions of NCCL that these tests call, after its API reference.
#pragma once

#include <cstddef>

#include "collectives/nccl/abi.h"

extern "C" {
using ncclComm_t = duet::nccl::Comm;
using ncclUniqueId = duet::nccl::UniqueId;
using ncclResult_t = int;
struct ncclTeam {
  int count, rank, stride;
};

ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    duet::nccl::Config* config);
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices);
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* part,
                            duet::nccl::Config* config, int flags);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part,
                           duet::nccl::Config* config);
ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* data, std::size_t bytes,
                                    duet::nccl::Window* window, int flags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, duet::nccl::Window window);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclGroupSimulateEnd(void* information);
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, int type,
                           ncclComm_t comm, void* stream);
ncclResult_t ncclAllToAll(const void* send, void* receive, std::size_t count, int type,
                          ncclComm_t comm, void* stream);
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, int type,
                               int operation, ncclComm_t comm, void* stream);
ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, int type,
                           int operation, ncclComm_t comm, void* stream);
ncclResult_t ncclSend(const void* send, std::size_t count, int type, int peer, ncclComm_t comm,
                      void* stream);
ncclResult_t ncclRecv(void* receive, std::size_t count, int type, int peer, ncclComm_t comm,
                      void* stream);
ncclResult_t ncclPutSignal(const void* send, std::size_t count, int type, int peer, void* window,
                           std::size_t offset, int signal, int context, unsigned flags,
                           ncclComm_t comm, void* stream);
ncclResult_t ncclSignal(int peer, int signal, int context, unsigned flags, ncclComm_t comm,
                        void* stream);
ncclResult_t ncclWaitSignal(int count, void* signals, ncclComm_t comm, void* stream);
ncclResult_t ncclAllGatherConfig(const void* send, void* receive, std::size_t count, int type,
                                 ncclComm_t comm, void* stream,
                                 const duet::nccl::CallConfig* config);
ncclResult_t ncclScatterConfig(const void* send, void* receive, std::size_t count, int type,
                               int root, ncclComm_t comm, void* stream,
                               const duet::nccl::CallConfig* config);
// The fake's own: all-gathers, sends and receives that have come to it from this process.
int fake_nccl_calls();
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, int type, int operation,
                        int root, ncclComm_t comm, void* stream);
ncclResult_t pncclReduce(const void* send, void* receive, std::size_t count, int type,
                         int operation, int root, ncclComm_t comm, void* stream);
ncclTeam ncclTeamWorld(ncclComm_t comm);
const char* ncclGetLastError(ncclComm_t comm);
const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
}
