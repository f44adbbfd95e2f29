// Which shape of a sweep's tiles is the fastest on this GPU: threads of a block, rows of a tile,
// rows whose loads a thread starts together, and how many blocks a multiprocessor runs at a time
// (0: as many as have room; fewer by shared memory that is asked for). One sweep of a square grid
// in fp32 by the sweep's own code, without a norm, beside the driver's copy of as many bytes. The
// best of 20 each. The shape that Duet takes is marked; src/halo/gpu/kernels.h, sweep_kernels.cu
// and sweeper.cc choose it.
//
//   bench_halo_sweep [COLUMNS]      default 16384
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "halo/gpu/sweep_rows.h"

static void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

namespace {

using duet::cuda::SweepTiles;

template <int threads, int in_flight>
__global__ void __launch_bounds__(threads) tile_kernel(SweepTiles tiles, unsigned columns) {
  duet::cuda::sweep_tile<4, false, in_flight>(tiles, columns, blockIdx.x);
}

template <typename Run>
double best_ms(Run run) {
  cudaEvent_t start, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  float best = 1e30f;
  for (int i = 0; i < 20; ++i) {
    CHECK(cudaEventRecord(start));
    run();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, end));
    best = std::min(best, ms);
  }
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(end));
  return best;
}

struct Grid {
  long long nx;
  float *from, *to;
  double copy_ms;  // of the driver's copy of as many bytes
};

// `at_a_time`: blocks of a multiprocessor; 0: as many as have room.
template <int threads, int in_flight>
void measure(const Grid& grid, int at_a_time = 0) {
  constexpr int kSharedBytes = 220 << 10;  // of a multiprocessor, less what blocks take besides
  const int shared = at_a_time == 0 ? 0 : kSharedBytes / at_a_time;
  CHECK(cudaFuncSetAttribute(tile_kernel<threads, in_flight>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const auto columns = static_cast<unsigned>((grid.nx + 4 * threads - 1) / (4 * threads));
  for (const int rows : {4, 8, 16, 32, 64, 128}) {
    SweepTiles tiles;
    tiles.from = grid.from;
    tiles.to = grid.to;
    tiles.nx = grid.nx;
    tiles.begin[0] = 1;
    tiles.end[0] = grid.nx + 1;
    tiles.tile_rows = rows;
    tiles.tiles_of_first = static_cast<unsigned>((grid.nx + rows - 1) / rows);
    const auto blocks = columns * static_cast<unsigned>((grid.nx + rows - 1) / rows);
    const double ms = best_ms(
        [&] { tile_kernel<threads, in_flight><<<blocks, threads, shared>>>(tiles, columns); });
    CHECK(cudaGetLastError());
    const double gb = 8e-9 * static_cast<double>(grid.nx) * static_cast<double>(grid.nx);
    const bool own =
        threads == duet::cuda::kSweepThreads && in_flight == 4 && rows == 8 && at_a_time == 0;
    std::printf("%7d %9d %9d %9d %9.4f ms %7.0f GB/s %6.3f of the copy%s\n", threads, in_flight,
                at_a_time, rows, ms, gb / (ms * 1e-3), grid.copy_ms / ms, own ? "  <- Duet's" : "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long long nx = argc > 1 ? std::atoll(argv[1]) : 16384;
  if (nx < 4 || nx % 4 != 0) {
    std::fprintf(stderr, "bench_halo_sweep %lld: expected a multiple of 4\n", nx);
    return 2;
  }
  const auto bytes = static_cast<size_t>(nx + 2) * static_cast<size_t>(nx) * sizeof(float);
  Grid grid{nx, nullptr, nullptr, 0};
  CHECK(cudaMalloc(&grid.from, bytes));
  CHECK(cudaMalloc(&grid.to, bytes));
  // Bytes 0x3F are floats near 0.75: no denormals. Random values draw more power.
  CHECK(cudaMemset(grid.from, 0x3F, bytes));
  CHECK(cudaMemset(grid.to, 0x3F, bytes));
  const auto copied = static_cast<size_t>(nx) * static_cast<size_t>(nx) * sizeof(float);
  grid.copy_ms = best_ms(
      [&] { CHECK(cudaMemcpyAsync(grid.to, grid.from, copied, cudaMemcpyDeviceToDevice)); });
  std::printf("%lld x %lld fp32; the driver's copy of as many bytes: %.4f ms, %.0f GB/s\n", nx, nx,
              grid.copy_ms, 2e-9 * static_cast<double>(copied) / (grid.copy_ms * 1e-3));
  std::printf("threads in_flight at_a_time tile_rows\n");
  measure<128, 2>(grid);
  measure<128, 4>(grid);
  measure<128, 8>(grid);
  measure<256, 1>(grid);
  measure<256, 2>(grid);
  measure<256, 4>(grid);
  measure<256, 8>(grid);
  for (const int at_a_time : {1, 2, 3, 4}) measure<256, 4>(grid, at_a_time);
  for (const int at_a_time : {1, 2}) measure<256, 8>(grid, at_a_time);
  measure<512, 2>(grid);
  measure<512, 4>(grid);
  measure<1024, 2>(grid);
  CHECK(cudaFree(grid.from));
  CHECK(cudaFree(grid.to));
}
