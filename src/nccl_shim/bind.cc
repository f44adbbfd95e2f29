#include <cstddef>

#include "nccl_shim/real_library.h"
#include "nccl_shim/trampolines.h"

// A call arrives here with its entry in r11 and everything else as its caller left it: registers
// that may hold arguments are kept over the look-up.
asm(".pushsection .text\n"
    ".globl duet_nccl_bind\n"
    ".hidden duet_nccl_bind\n"
    "duet_nccl_bind:\n"
    "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\n"
    "sub $128, %rsp\n"
    "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\n"
    "movups %xmm3, 48(%rsp)\nmovups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\n"
    "movups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"
    "mov %r11, %rdi\n"
    "call duet_nccl_resolve\n"
    "mov %rax, %r11\n"
    "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\n"
    "movups 48(%rsp), %xmm3\nmovups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\n"
    "movups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"
    "add $128, %rsp\n"
    "pop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
    "jmp *%r11\n"
    ".popsection\n");

// Called by duet_nccl_bind alone.
extern "C" [[gnu::visibility("hidden"), gnu::used]] void* duet_nccl_resolve(
    duet::nccl_shim::Entry* entry) {
  void* found = duet::nccl_shim::real_function_or_refusal(entry->name);
  __atomic_store_n(&entry->target, found, __ATOMIC_RELEASE);
  return found;
}
