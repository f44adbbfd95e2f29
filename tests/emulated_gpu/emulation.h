// Kernels on a CPU: the threads of a block are coroutines of one thread, which a barrier or a
// shuffle ends until all others have come to it. Blocks run one after the other. It finds wrong
// results, barriers that not all threads reach and wrong launches; no races.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __shared__ static  // one block runs at a time
#define __launch_bounds__(...)
#define __grid_constant__

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  dim3(unsigned columns = 1, unsigned rows = 1, unsigned layers = 1)  // NOLINT: converts
      : x(columns), y(rows), z(layers) {}
  unsigned x, y, z;
};

namespace duet::emulation {

// Of the thread that runs.
extern uint3 thread_index, block_index;
extern dim3 block_size, grid_size;

// Runs `body` as each thread of each block. Throws Error for shapes that a GPU would refuse, and
// where some threads wait for others that have ended or wait elsewhere.
void run(const dim3& grid, unsigned threads, std::size_t shared_bytes,
         const std::function<void()>& body);

void* shared_memory();         // that a launch has asked for
int wait_for_block(int vote);  // returns whether any thread's vote was not 0
// The value of thread `source` of the warp; the own one where there is no such thread.
double value_of(double value, int source);
int lane();  // the thread's number in its warp

// AMD's shuffles, in waves of so many threads. Threads of the wave that have not come to a shuffle
// are inactive: what others read of them is not a number.
extern int wave_threads;
double value_of_active(double value, int source);
int lane_of_wave();

}  // namespace duet::emulation

#define threadIdx ::duet::emulation::thread_index
#define blockIdx ::duet::emulation::block_index
#define blockDim ::duet::emulation::block_size
#define gridDim ::duet::emulation::grid_size

inline void __syncthreads() { duet::emulation::wait_for_block(0); }
inline int __syncthreads_or(int vote) { return duet::emulation::wait_for_block(vote); }
// fp32 values are exact in fp64.
inline double __shfl_xor_sync(unsigned, double value, int mask) {
  return duet::emulation::value_of(value, duet::emulation::lane() ^ mask);
}
inline float __shfl_xor_sync(unsigned, float value, int mask) {
  return static_cast<float>(
      duet::emulation::value_of(static_cast<double>(value), duet::emulation::lane() ^ mask));
}
inline float __shfl_up_sync(unsigned, float value, int by) {
  return static_cast<float>(
      duet::emulation::value_of(static_cast<double>(value), duet::emulation::lane() - by));
}
inline float __shfl_down_sync(unsigned, float value, int by) {
  return static_cast<float>(
      duet::emulation::value_of(static_cast<double>(value), duet::emulation::lane() + by));
}

// HIP's, with its rules for sources outside the `width` neighbours.
template <typename T>
T __shfl_xor(T value, int mask, int width = duet::emulation::wave_threads) {
  const int own = duet::emulation::lane_of_wave(), other = own ^ mask;
  const int source = other >= ((own + width) & ~(width - 1)) ? own : other;
  return static_cast<T>(duet::emulation::value_of_active(static_cast<double>(value), source));
}
template <typename T>
T __shfl_up(T value, int by, int width = duet::emulation::wave_threads) {
  const int own = duet::emulation::lane_of_wave(), other = own - by;
  const int source = other < (own & ~(width - 1)) ? own : other;
  return static_cast<T>(duet::emulation::value_of_active(static_cast<double>(value), source));
}
template <typename T>
T __shfl_down(T value, int by, int width = duet::emulation::wave_threads) {
  const int own = duet::emulation::lane_of_wave();
  const int source = (own & (width - 1)) + by >= width ? own : own + by;
  return static_cast<T>(duet::emulation::value_of_active(static_cast<double>(value), source));
}

struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
template <typename T>
void __stcs(T* to, const T& value) {
  *to = value;
}
inline unsigned atomicMax(unsigned* word, unsigned value) {
  const unsigned before = *word;
  if (value > before) *word = value;
  return before;
}
inline unsigned atomicMin(unsigned* word, unsigned value) {
  const unsigned before = *word;
  if (value < before) *word = value;
  return before;
}
inline unsigned atomicAdd(unsigned* word, unsigned value) {
  const unsigned before = *word;
  *word += value;
  return before;
}
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline void sincospif(float x, float* sine, float* cosine) {
  constexpr double kHalfTurn = 3.14159265358979323846;
  *sine = static_cast<float>(std::sin(kHalfTurn * static_cast<double>(x)));
  *cosine = static_cast<float>(std::cos(kHalfTurn * static_cast<double>(x)));
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
