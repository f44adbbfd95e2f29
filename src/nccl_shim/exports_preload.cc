// The names of libduet-nccl.so, which is preloaded: calls that it need not see keep going to NCCL.
#include "nccl_shim/functions.h"
#include "nccl_shim/trampolines.h"

#define DUET_NCCL_PRELOADED(name) DUET_NCCL_TRAMPOLINE(name, DUET_NCCL_WEAK(name))
DUET_NCCL_SEEN(DUET_NCCL_PRELOADED)
