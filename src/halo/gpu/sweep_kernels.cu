#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>
#include <type_traits>

#include "device/gpu/launch.h"
#include "device/gpu/load_kernel.h"
#include "halo/gpu/kernels.h"
#include "halo/gpu/row_exchange.h"
#include "halo/gpu/sweep_rows.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kRowsInFlight = 4;
constexpr unsigned kSumThreads = 1024;

__device__ inline void put_partial(double* partials, double sum) {
  const double all = block_sum<kSweepThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = all;
}

// `first_block`: the number of blocks that do something else.
template <int width, bool norm>
__device__ void put_tile(const SweepTiles& tiles, unsigned columns, unsigned first_block) {
  const double sum =
      sweep_tile<width, norm, kRowsInFlight>(tiles, columns, blockIdx.x - first_block);
  if (norm) put_partial(tiles.partials, sum);
}

template <int width, bool norm>
__global__ void __launch_bounds__(kSweepThreads) sweep_kernel(SweepTiles tiles, unsigned columns) {
  put_tile<width, norm>(tiles, columns, 0);
}

template <int width, bool norm>
__device__ void put_boundary(const SweepTiles& tiles, const SweepExchange& e, unsigned columns) {
  exchange_part(e, columns, [&](bool first, bool last) {
    const std::int64_t row = first ? 1 : e.rows;
    const std::int64_t x = column_of<width>(blockIdx.x, columns);
    const auto store = [&](std::int64_t at, const Points<width>& points) {
      store_points<width>(tiles.to + at * tiles.nx + x, points);
      if (by_copies(e)) return;
      if (first) store_points<width>(e.halo_above + x, points);
      if (last) store_points<width>(e.halo_below + x, points);
    };
    const double sum = sweep_rows<width, norm, 1>(tiles, row, row + 1, x, store);
    if (norm) put_partial(tiles.partials, sum);
  });
}

// The boundary rows have the first blocks, which a device starts first: their way to the neighbours
// is beside the interior.
template <int width, bool norm>
__global__ void __launch_bounds__(kSweepThreads)
    exchange_kernel(SweepTiles tiles, SweepExchange e, unsigned columns) {
  const unsigned boundary = (e.rows == 1 ? 1 : 2) * columns;
  if (blockIdx.x < boundary) {
    put_boundary<width, norm>(tiles, e, columns);
  } else {
    put_tile<width, norm>(tiles, columns, boundary);
  }
}

__global__ void __launch_bounds__(kSumThreads)
    sum_kernel(const double* values, std::int64_t count, double* total) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kSumThreads) sum += values[i];
  const double all = block_sum<kSumThreads>(sum);
  if (threadIdx.x == 0) *total = all;
}

unsigned blocks_of(std::int64_t count) { return static_cast<unsigned>(count); }

// Calls `kernel` with the width and the norm of the tiles as constants.
template <typename Choose>
void with_constants(const SweepTiles& tiles, Choose choose) {
  using Four = std::integral_constant<int, 4>;
  using One = std::integral_constant<int, 1>;
  const bool norm = tiles.partials != nullptr;
  if (points_of_thread(tiles.nx) == 4) {
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
  with_constants(tiles, [&](auto width, auto norm) {
    launch(sweep_kernel<decltype(width)::value, decltype(norm)::value>,
           {dim3(blocks_of(tile_count(tiles))), kSweepThreads}, stream, tiles, columns);
  });
}

void launch_exchange(const SweepTiles& tiles, const SweepExchange& exchange, Stream& stream) {
  const unsigned columns = blocks_of(column_blocks(tiles.nx));
  const unsigned boundary = (exchange.rows == 1 ? 1 : 2) * columns;
  with_constants(tiles, [&](auto width, auto norm) {
    launch(exchange_kernel<decltype(width)::value, decltype(norm)::value>,
           {dim3(boundary + blocks_of(tile_count(tiles))), kSweepThreads}, stream, tiles, exchange,
           columns);
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
