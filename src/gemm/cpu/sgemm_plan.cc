#include "gemm/cpu/sgemm_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "device/stream.h"
#include "gemm/cpu/thread_count.h"

namespace duet {
namespace {

SgemmCall whole(const GemmProblem& problem, const GemmBuffers& buffers) {
  SgemmCall call;
  call.a_transposed = problem.layout == Layout::tn;
  call.b_transposed = problem.layout == Layout::nt;
  call.m = problem.m;
  call.n = problem.n;
  call.k = problem.k;
  call.a = reinterpret_cast<const float*>(buffers.a.data);
  call.a_step = row_step_of_a(problem);
  call.b = reinterpret_cast<const float*>(buffers.b.data);
  call.b_step = call.b_transposed ? problem.k : problem.n;
  call.beta = problem.accumulate ? 1.0f : 0.0f;
  call.c = reinterpret_cast<float*>(buffers.c.data);
  call.c_step = problem.n;
  return call;
}

// The part of `call` that computes a tile of C from (row, column) on.
SgemmCall part(SgemmCall call, std::int64_t row, std::int64_t column, ProductTile tile) {
  call.a += call.a_transposed ? row : row * call.a_step;
  call.b += call.b_transposed ? column * call.b_step : column;
  call.c += row * call.c_step + column;
  call.m = std::min(tile.rows, call.m - row);
  call.n = std::min(tile.columns, call.n - column);
  return call;
}

std::int64_t parts_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

class SgemmPlan : public GemmPlan {
 public:
  SgemmPlan(SgemmLibrary library, int threads, const GemmProblem& problem, bool tiled)
      : library_(std::move(library)), threads_(threads), problem_(problem), tiled_(tiled) {}

  void enqueue(Stream& stream, const GemmBuffers& buffers) override {
    stream.run({"gemm " + name(problem_), {}, [this, buffers] {
                  const SgemmCall call = whole(problem_, buffers);
                  const int status = tiled_ ? by_tiles(call) : by_library(call);
                  if (status != 0) throw Error(fmt::format("{}: status {}", library_.call, status));
                }});
  }

  std::string algorithm() const override {
    const std::string by = fmt::format("{}, {} threads", library_.algorithm, threads_);
    if (!tiled_) return by;
    const ProductTile tile = product_tile(problem_);
    return fmt::format("{}, tiles of {} x {}", by, tile.rows, tile.columns);
  }

 private:
  int by_library(const SgemmCall& call) const {
    const ThreadCount guard(threads_);
    if (library_.use_threads) library_.use_threads(threads_);
    return library_.multiply(call);
  }

  // The first status that is not 0, of any tile.
  int by_tiles(const SgemmCall& call) const {
    const ProductTile tile = product_tile(problem_);
    const std::int64_t across = parts_of(call.n, tile.columns);
    const std::int64_t tiles = parts_of(call.m, tile.rows) * across;
    std::atomic<int> failed{0};
    const ThreadCount guard(1);
    if (library_.use_threads) library_.use_threads(1);
#pragma omp parallel num_threads(threads_)
    {
      const ThreadCount one(1);
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < tiles; ++i) {
        const int status =
            library_.multiply(part(call, i / across * tile.rows, i % across * tile.columns, tile));
        if (status != 0) failed = status;
      }
    }
    return failed;
  }

  SgemmLibrary library_;
  int threads_;
  GemmProblem problem_;
  bool tiled_;
};

}  // namespace

ProductTile product_tile(const GemmProblem& problem) {
  // Whole vectors of each instruction set in a row of C; the last size is the smallest.
  constexpr ProductTile kTiles[] = {{256, 384}, {128, 192}, {64, 96}};
  constexpr std::int64_t kEnough = 32;  // for some tens of cores
  for (const ProductTile& tile : kTiles) {
    if (parts_of(problem.m, tile.rows) * parts_of(problem.n, tile.columns) >= kEnough) return tile;
  }
  return *(std::end(kTiles) - 1);
}

std::unique_ptr<GemmPlan> plan_sgemm(const SgemmLibrary& library, int threads,
                                     const GemmProblem& problem, const Tuning& tuning) {
  return std::make_unique<SgemmPlan>(library, threads, problem, tuning.reproducible);
}

}  // namespace duet
