#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>
#include <type_traits>

#include "device/gpu/launch.h"
#include "device/gpu/load_kernel.h"
#include "halo/gpu/kernels.h"
#include "halo/gpu/norm_sums.h"
#include "halo/gpu/row_exchange.h"
#include "halo/gpu/sweep_rows.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kRowsInFlight = 4;
constexpr unsigned kSumThreads = 1024;

template <int width, bool norm>
__global__ void __launch_bounds__(kSweepThreads) sweep_kernel(SweepTiles tiles, unsigned columns) {
  const double sum = sweep_tile<width, norm, kRowsInFlight>(tiles, columns, blockIdx.x);
  if (!norm) return;
  const double all = block_sum<kSweepThreads>(sum);
  if (threadIdx.x == 0) tiles.partials[blockIdx.x] = all;
}

// Returns the sum of the thread's changes.
template <int width, bool norm>
__device__ double sweep_boundary(const SweepTiles& tiles, const SweepExchange& e, unsigned columns,
                                 unsigned block) {
  double sum = 0;
  exchange_part(e, columns, block, [&](bool first, bool last) {
    const std::int64_t row = first ? 1 : e.rows;
    const std::int64_t x = column_of<width>(block, columns);
    const auto store = [&](std::int64_t at, const Points<width>& points) {
      store_points<width>(tiles.to + at * tiles.nx + x, points);
      if (by_copies(e)) return;
      if (first) store_points<width>(e.halo_above + x, points);
      if (last) store_points<width>(e.halo_below + x, points);
    };
    sum = sweep_rows<width, norm, 1>(tiles, row, row + 1, x, store);
  });
  return sum;
}

// The boundary rows have the first blocks, which a device starts first: their way to the neighbours
// is beside the interior.
template <int width, bool norm>
__global__ void __launch_bounds__(kSweepThreads)
    exchange_kernel(SweepTiles tiles, SweepExchange e, SweepNorm sums, unsigned columns,
                    unsigned boundary) {
  const auto sum_of_block = [](double value) {
    __syncthreads();  // thread 0 has read the sums of the call before
    return block_sum<kSweepThreads>(value);
  };
  if (norm && adds_up(sums, blockIdx.x, gridDim.x)) return add_up_sums(sums, sum_of_block);
  const unsigned block = norm ? number_of_sweeping(sums, blockIdx.x) : blockIdx.x;
  const std::uint32_t number = norm ? number_of_call(sums) : 0;
  const double sum = block < boundary
                         ? sweep_boundary<width, norm>(tiles, e, columns, block)
                         : sweep_tile<width, norm, kRowsInFlight>(tiles, columns, block - boundary);
  if (!norm) return;
  const double all = block_sum<kSweepThreads>(sum);
  if (threadIdx.x == 0) store_sum(sums.own.partials, block, all, number);
}

__global__ void __launch_bounds__(kSumThreads)
    sum_kernel(const double* values, std::int64_t count, double* total) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kSumThreads) sum += values[i];
  const double all = block_sum<kSumThreads>(sum);
  if (threadIdx.x == 0) *total = all;
}

unsigned blocks_of(std::int64_t count) { return static_cast<unsigned>(count); }

// Calls choose(width, norm) with constants.
template <typename Choose>
void with_constants(std::int64_t nx, bool norm, Choose choose) {
  using Four = std::integral_constant<int, 4>;
  using One = std::integral_constant<int, 1>;
  if (points_of_thread(nx) == 4) {
    norm ? choose(Four{}, std::true_type{}) : choose(Four{}, std::false_type{});
  } else {
    norm ? choose(One{}, std::true_type{}) : choose(One{}, std::false_type{});
  }
}

template <int width, bool norm>
void load_both() {
  load_kernel(sweep_kernel<width, norm>);
  load_kernel(exchange_kernel<width, norm>);
}

}  // namespace

void launch_sweep(const SweepTiles& tiles, Stream& stream) {
  const unsigned columns = blocks_of(column_blocks(tiles.nx));
  with_constants(tiles.nx, tiles.partials != nullptr, [&](auto width, auto norm) {
    launch(sweep_kernel<decltype(width)::value, decltype(norm)::value>,
           {dim3(blocks_of(tile_count(tiles))), kSweepThreads}, stream, tiles, columns);
  });
}

void launch_exchange(const SweepTiles& tiles, const SweepExchange& exchange, const SweepNorm& norm,
                     Stream& stream) {
  const unsigned columns = blocks_of(column_blocks(tiles.nx));
  const unsigned boundary = blocks_of(boundary_blocks(exchange.rows, tiles.nx));
  unsigned blocks = boundary + blocks_of(tile_count(tiles));
  if (norm.made) blocks += blocks_of(gpu::groups_of(blocks, norm.group_bits));
  with_constants(tiles.nx, norm.made, [&](auto width, auto made) {
    launch(exchange_kernel<decltype(width)::value, decltype(made)::value>,
           {dim3(blocks), kSweepThreads}, stream, tiles, exchange, norm, columns, boundary);
  });
}

void launch_sum(const double* values, std::int64_t count, double* total, Stream& stream) {
  launch(sum_kernel, {dim3(1), kSumThreads}, stream, values, count, total);
}

void load_halo_kernels() {
  load_both<4, true>();
  load_both<4, false>();
  load_both<1, true>();
  load_both<1, false>();
  load_kernel(sum_kernel);
}

}  // namespace duet::DUET_GPU
