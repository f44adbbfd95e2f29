// A libnccl.so.2 for tests.
#include <cstdint>

#include "nccl_calls.h"

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22899;
  return 0;
}

// 0 if every argument has arrived as nccl_user.cc passes it.
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, int type, int operation,
                        int root, ncclComm_t comm, void* stream) {
  const auto number = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  const bool same = number(send) == 1 && number(receive) == 2 && count == 3 && type == 4 &&
                    operation == 5 && root == 6 && number(comm) == 7 && number(stream) == 8;
  return same ? 0 : 3;
}

ncclTeam ncclTeamWorld(ncclComm_t) { return {11, 12, 13}; }

const char* ncclGetErrorString(ncclResult_t) { return "of the fake"; }

}  // extern "C"
