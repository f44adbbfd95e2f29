// The part of NVSHMEM that Duet uses, as a flat table of functions. So only the module's device
// code (library.cu, and halo/nvshmem/kernels.cu) meets NVSHMEM's headers, and tests have an
// implementation over host memory (tests/fake_gpu/nvshmem). Functions that return int return 0, or
// else error() has the reason.
#pragma once

#include <cstddef>
#include <cstdint>

// Before functions that blocks of a kernel call, and tests on the CPU.
#ifdef __CUDACC__
#define DUET_NVSHMEM_BLOCK __device__
#else
#define DUET_NVSHMEM_BLOCK
#endif

namespace duet::nvshmem {

inline constexpr std::size_t kIdBytes = 128;

// An all_to_all: `chunk` bytes from every PE to every PE. Both buffers are symmetric.
struct AllToAllCall {
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  std::size_t chunk = 0;
  int pe = 0, pes = 0;
};

// Bytes of a send buffer, and where they go in the receive buffer of one PE.
struct Part {
  std::size_t from = 0, to = 0, bytes = 0;
};

// A part to every PE. Both buffers are symmetric.
struct PutCall {
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  const Part* parts =
      nullptr;  // by PE; of put_parts in the host's memory, of a kernel in the GPU's
  int pe = 0, pes = 0;
};

// The same by blocks of one kernel, in packets: puts of at most `packet` bytes (packets.h).
struct PacketCall {
  PutCall all;
  std::size_t largest = 0;  // part of any PE
  std::size_t packet = 0;
  int blocks = 1;
  // After each packet, where all parts of all PEs are equal; otherwise one signal after all.
  bool signals = false;
  // Symmetric, a word for each PE: calls for which its receive buffer was ready, and signals of
  // what it has put here.
  std::uint64_t *ready = nullptr, *arrived = nullptr;
  // This PE's: its calls, and the blocks that have ended the one under way.
  std::uint64_t *calls = nullptr, *ended = nullptr;
};

struct Calls {
  const char* (*error)() = nullptr;
  // Of one PE, which all others then get: kIdBytes bytes.
  int (*unique_id)(void* id) = nullptr;
  // Collective, on the thread whose device is current. A process may call it again for as many PEs.
  int (*init)(const void* id, int pe, int pes) = nullptr;
  // Collective: as many bytes on every PE, aligned to 256; nullptr: there is no room.
  void* (*allocate)(int pe, std::size_t bytes) = nullptr;
  void (*release)(int pe, void* memory) = nullptr;  // collective
  // Enqueue on a native stream of the current device. sync_all: until all PEs have come to it.
  // all_to_all: by the library's own kernel; put_parts: one put behind the other, and then a
  // barrier of all PEs, behind which all parts have arrived. Of both a receive buffer must be free
  // when the first PE begins.
  int (*sync_all)(int pe, void* stream) = nullptr;
  int (*all_to_all)(const AllToAllCall& call, void* stream) = nullptr;
  int (*put_parts)(const PutCall& call, void* stream) = nullptr;
  int (*put_packets)(const PacketCall& call, void* stream) = nullptr;
  int most_blocks = 0;                 // of put_packets: as many as surely run at once
  bool several_pes_a_process = false;  // of the fake
};

}  // namespace duet::nvshmem
