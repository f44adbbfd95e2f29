// The drop-in's kernels, on a GPU or emulated on a CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/random.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::testing {

// What kernels and CPU reach, for as long as the program runs; aligned to 256 bytes.
unsigned char* memory_of_both(std::size_t bytes);
ExchangeWords& words_of_both();  // always the same

// Run the kernel, and wait for its end. `exchanged` has words_of_both().
void reduce_by_kernel(const PartsToReduce& reduced);
void exchange_by_kernel(const PacketExchange& exchanged);
void exchange_by_kernel(const ChunkExchange& exchanged);

struct ReductionCase {
  DType type;
  Reduction reduction;
};

inline std::vector<ReductionCase> reduction_cases() {
  std::vector<ReductionCase> all;
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16, DType::int32}) {
    for (const Reduction reduction : all_reductions()) all.push_back({type, reduction});
  }
  return all;
}

inline std::string name_of(const ReductionCase& tested) {
  return std::string(name(tested.type)) + "_" + std::string(name(tested.reduction));
}

inline std::size_t element_size(DType type) {
  return type == DType::fp32 || type == DType::int32 ? 4 : 2;
}

// Any bits but those of NaNs and infinities.
inline void fill_elements(unsigned char* part, DType type, std::size_t elements,
                          std::uint64_t seed) {
  for (std::size_t i = 0; i < elements; ++i) {
    auto bits = static_cast<std::uint32_t>(random_word(seed, i));
    if (type == DType::fp32 && (bits & 0x7f800000) == 0x7f800000) bits ^= 0x40000000;
    if (type == DType::bf16 && (bits & 0x7f80) == 0x7f80) bits ^= 0x4000;
    if (type == DType::fp16 && (bits & 0x7c00) == 0x7c00) bits ^= 0x4000;
    std::memcpy(part + i * element_size(type), &bits, element_size(type));
  }
}

}  // namespace duet::nccl_shim::testing
