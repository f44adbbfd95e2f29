// The names of libduet-nccl.so, which is preloaded: all other calls go to NCCL as before.
#include "nccl_shim/functions.h"
#include "nccl_shim/trampolines.h"

#define DUET_NCCL_PRELOADED(name) DUET_NCCL_JUMP(duet_##name, DUET_NCCL_WEAK(name))
DUET_NCCL_WRAPPED(DUET_NCCL_PRELOADED)
