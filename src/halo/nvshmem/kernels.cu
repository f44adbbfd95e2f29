// NVSHMEM's side of calls.h. A file that meets its headers includes no header of the device
// interface: the names of folders in both are alike.
#include <nvshmem.h>
#include <nvshmemx.h>

#include "collectives/nvshmem/library.h"
#include "device/gpu/system_words.h"
#include "halo/gpu/sweep_rows.h"
#include "halo/nvshmem/calls.h"
#include "halo/nvshmem/row_puts.h"

namespace duet::nvshmem {
namespace {

using cuda::kSweepThreads;
using cuda::SweepTiles;

constexpr int kRowsInFlight = 4;
constexpr int kTileRows = 16;

int launched() {
  const cudaError_t result = cudaGetLastError();
  return result == cudaSuccess ? 0 : failed(cudaGetErrorString(result));
}

__device__ void put_partial(double* partials, double sum) {
  const double all = cuda::block_sum<kSweepThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = all;
}

// The block of a kernel, as row_puts.h needs it.
struct DeviceBlock {
  __device__ void put_value(float* there, float value, int pe) {
    nvshmem_float_p(there, value, pe);
  }
  __device__ void meet() { __syncthreads(); }
  __device__ void put(float* there, const float* from, std::size_t bytes, int pe) {
    nvshmemx_putmem_nbi_block(there, from, bytes, pe);
  }
  __device__ void put_signal(float* there, const float* from, std::size_t bytes,
                             std::uint64_t* word, int pe) {
    nvshmemx_putmem_signal_nbi_block(there, from, bytes, word, 1, NVSHMEM_SIGNAL_ADD, pe);
  }
};

template <int width, bool norm, Put put>
__device__ void boundary_row(const SweepTiles& tiles, const SweepCall& call, unsigned columns) {
  DeviceBlock block;
  const RowPart part =
      row_part(call, blockIdx.x, columns, static_cast<std::int64_t>(kSweepThreads) * width);
  const std::int64_t row = row_of(call, part);
  const std::int64_t x = cuda::column_of<width>(blockIdx.x, columns);
  const auto store = [&](std::int64_t at, const cuda::Points<width>& points) {
    cuda::store_points<width>(tiles.to + at * tiles.nx + x, points);
    if constexpr (put == Put::words) {
      for (int i = 0; i < width; ++i) put_point(call, block, part, x + i, points.at[i]);
    }
  };
  const double sum = cuda::sweep_rows<width, norm, 1>(tiles, row, row + 1, x, store);
  if (norm) put_partial(tiles.partials, sum);
  if constexpr (put != Put::words) put_part<put>(call, block, part);
}

template <int width, bool norm, Put put>
__global__ void __launch_bounds__(kSweepThreads)
    halo_kernel(SweepTiles tiles, SweepCall call, unsigned columns) {
  const unsigned boundary = !call.boundary ? 0 : (call.rows == 1 ? 1 : 2) * columns;
  if (blockIdx.x < boundary) return boundary_row<width, norm, put>(tiles, call, columns);
  const double sum =
      cuda::sweep_tile<width, norm, kRowsInFlight>(tiles, columns, blockIdx.x - boundary);
  if (norm) put_partial(tiles.partials, sum);
}

struct SyncThread {
  __device__ void quiet() { nvshmem_quiet(); }
  __device__ void set(std::uint64_t* word, std::uint64_t value, int pe) {
    nvshmemx_signal_op(word, value, NVSHMEM_SIGNAL_SET, pe);
  }
  __device__ void wait(const std::uint64_t* word, std::uint64_t value) {
    while (cuda::load_acquire(word) < value) {
    }
  }
};

__global__ void sync_kernel(SyncCall call, std::uint64_t parts) {
  SyncThread thread;
  sync_neighbours(call, thread, parts);
}

SweepTiles tiles_of(const SweepCall& call) {
  SweepTiles tiles;
  tiles.from = call.from;
  tiles.to = call.to;
  tiles.partials = call.partials;
  tiles.nx = call.nx;
  if (call.interior && call.rows > 2) {
    tiles.begin[0] = 2;
    tiles.end[0] = call.rows;
  }
  cuda::set_tile_rows(tiles, kTileRows);
  return tiles;
}

std::int64_t boundary_blocks(const SweepCall& call) {
  return !call.boundary ? 0 : (call.rows == 1 ? 1 : 2) * cuda::column_blocks(call.nx);
}

std::int64_t partials(const SweepCall& call) {
  return boundary_blocks(call) + cuda::tile_count(tiles_of(call));
}

template <int width, bool norm, Put put>
int launch_sweep(const SweepCall& call, void* stream) {
  const auto blocks = static_cast<unsigned>(partials(call));
  if (blocks == 0) return 0;
  halo_kernel<width, norm, put><<<blocks, kSweepThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      tiles_of(call), call, static_cast<unsigned>(cuda::column_blocks(call.nx)));
  return launched();
}

template <Put put>
int sweep_by(const SweepCall& call, void* stream) {
  const bool norm = call.partials != nullptr;
  if (cuda::points_of_thread(call.nx) == 4) {
    return norm ? launch_sweep<4, true, put>(call, stream)
                : launch_sweep<4, false, put>(call, stream);
  }
  return norm ? launch_sweep<1, true, put>(call, stream)
              : launch_sweep<1, false, put>(call, stream);
}

int sweep(const SweepCall& call, void* stream) {
  switch (call.put) {
    case Put::words:
      return sweep_by<Put::words>(call, stream);
    case Put::blocks:
      return sweep_by<Put::blocks>(call, stream);
    case Put::signals:
      return sweep_by<Put::signals>(call, stream);
  }
  return failed("an unknown way to put");
}

int sync(const SyncCall& call, void* stream) {
  const auto parts = static_cast<std::uint64_t>(cuda::column_blocks(call.nx));
  sync_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(call, parts);
  return launched();
}

}  // namespace

const HaloCalls& library_halo_calls() {
  static const HaloCalls calls{library_calls(), partials, sweep, sync};
  return calls;
}

}  // namespace duet::nvshmem
