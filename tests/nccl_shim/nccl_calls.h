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
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, int type, int operation,
                        int root, ncclComm_t comm, void* stream);
ncclResult_t pncclReduce(const void* send, void* receive, std::size_t count, int type,
                         int operation, int root, ncclComm_t comm, void* stream);
ncclTeam ncclTeamWorld(ncclComm_t comm);
const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
}
