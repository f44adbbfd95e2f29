// The kernels of chunks, as their own text says (tests/races/shadow stands before the GPU's
// headers): blocks of one thread, one after the other, as block b waits only for blocks b of
// others.
#include <chrono>
#include <thread>

#include "device/gpu/chunk_exchange.h"
#include "fake_gpu/cuda/kernels.h"
#include "nccl_shim/cuda/kernel_arguments.h"
#include "nccl_shim/cuda/until_ended.h"

namespace duet::DUET_GPU {
namespace {

using nccl_shim::cuda::ChunkArguments;

template <typename Take>
void run(const ChunkArguments& of) {
  gridDim.x = of.blocks;
  for (blockIdx.x = 0; blockIdx.x < of.blocks; ++blockIdx.x) {
    exchange_chunks<Take>(of.exchange, [&](const auto& is_missing) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      return goes_on_until_ended(of, is_missing);
    });
    if (load_relaxed(of.words.ended) != 0) return;
  }
}

struct Runs {
  template <typename Type, typename Op>
  static constexpr auto kernel = run<ReducesChunks<Type, Op>>;
};

}  // namespace
}  // namespace duet::DUET_GPU

namespace duet::nccl_shim::host {

void exchange_chunks(const cuda::ChunkArguments& arguments,
                     const std::optional<Exchange::Reduced>& reduced) {
  if (reduced) {
    DUET_GPU::kernel_for<DUET_GPU::Runs>(reduced->type, reduced->reduction)(arguments);
  } else {
    DUET_GPU::run<DUET_GPU::MovesChunks>(arguments);
  }
}

}  // namespace duet::nccl_shim::host
