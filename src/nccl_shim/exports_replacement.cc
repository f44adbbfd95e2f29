// The names of the libnccl.so.2 that stands in the real one's place: all that NCCL has, also as
// pnccl*.
#include "nccl_shim/functions.h"
#include "nccl_shim/trampolines.h"

#define DUET_NCCL_DEFINED(name) \
  DUET_NCCL_JUMP(duet_##name, DUET_NCCL_WEAK(name) DUET_NCCL_STRONG(p##name))
DUET_NCCL_WRAPPED(DUET_NCCL_DEFINED)

#define DUET_NCCL_FORWARDED(name) \
  DUET_NCCL_TRAMPOLINE(name, DUET_NCCL_WEAK(name) DUET_NCCL_STRONG(p##name))
DUET_NCCL_PASSED_ON(DUET_NCCL_FORWARDED)
