// Quad: 16 bytes, loaded and stored in one instruction. As a struct, clang keeps arrays of Quad in
// scratch memory, so HIP uses a vector type, which nvcc does not have.
#pragma once

#include <cstdint>

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

#ifdef DUET_GPU_HIP
using Quad = std::uint32_t __attribute__((ext_vector_type(4)));
#else
struct alignas(16) Quad {
  std::uint32_t x, y, z, w;
};
#endif

}  // namespace duet::DUET_GPU
