// Functions that jump on to the function of the same name of the real NCCL, whatever its parameters
// are. The first call of each goes by duet_nccl_bind(), which looks the function up; later ones
// cost one indirect jump.
//
//   ncclX:  jmp *entry.target     entry.target: at first bind_ncclX, then the real ncclX
#pragma once

#ifndef __x86_64__
#error "the NCCL drop-in has trampolines for x86-64 only"
#endif

namespace duet::nccl_shim {

// As DUET_NCCL_TRAMPOLINE lays it out.
struct Entry {
  void* target;
  const char* name;
};

}  // namespace duet::nccl_shim

// Defines what `labels` names (".weak ncclX\nncclX:\n", ...) as a jump to the real `name`.
#define DUET_NCCL_TRAMPOLINE(name, labels)                                \
  asm(".pushsection .rodata\n"                                            \
      "duet_name_" #name ": .asciz \"" #name                              \
      "\"\n"                                                              \
      ".popsection\n"                                                     \
      ".pushsection .data.rel.local,\"aw\",@progbits\n"                   \
      ".balign 8\n"                                                       \
      "duet_entry_" #name ": .quad duet_bind_" #name ", duet_name_" #name \
      "\n"                                                                \
      ".popsection\n"                                                     \
      ".pushsection .text\n"                                              \
      "duet_bind_" #name                                                  \
      ": endbr64\n"                                                       \
      "lea duet_entry_" #name                                             \
      "(%rip), %r11\n"                                                    \
      "jmp duet_nccl_bind\n"                                              \
      ".balign 16\n" labels                                               \
      "endbr64\n"                                                         \
      "jmp *duet_entry_" #name                                            \
      "(%rip)\n"                                                          \
      ".popsection\n");

// Defines what `labels` names as a jump to `target`, a function of the drop-in's own.
#define DUET_NCCL_JUMP(target, labels) \
  asm(".pushsection .text\n.balign 16\n" labels "endbr64\njmp " #target "\n.popsection\n");

#define DUET_NCCL_WEAK(name) ".weak " #name "\n.type " #name ", @function\n" #name ":\n"
#define DUET_NCCL_STRONG(name) ".globl " #name "\n.type " #name ", @function\n" #name ":\n"
