// LocalKernel::adds by bulk copies that add where they arrive: a block of one warp streams its
// slice of an item in tiles from its own memory into shared memory, and from there over the link
// (cp.async.bulk and cp.reduce.async.bulk, PTX ISA 8.0, compute capability 9.0).
#include <cstdint>

#include "device/collective_kernel.h"
#include "device/gpu/item_slices.h"
#include "device/gpu/ordered_items.h"
#include "device/gpu/vendor_calls.h"

namespace duet::cuda {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kTile = 16 << 10;  // bytes
constexpr unsigned kTiles = 6;        // in shared memory
constexpr unsigned kLoading = 3;      // of them; the others are being sent
constexpr unsigned kSharedBytes = kTiles * kTile;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Orders a thread's plain accesses and its bulk copies, in both directions.
__device__ void fence_bulk() { asm volatile("fence.proxy.async;" ::: "memory"); }

template <typename Type>
__device__ void add_bulk(unsigned char* to, unsigned tile, unsigned bytes);

#define DUET_ADD_BULK(Type, operation)                                               \
  template <>                                                                        \
  __device__ void add_bulk<Type>(unsigned char* to, unsigned tile, unsigned bytes) { \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation     \
                 " [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),             \
                 "r"(tile), "r"(bytes)                                               \
                 : "memory");                                                        \
  }
DUET_ADD_BULK(Fp32Lanes, "add.f32")
DUET_ADD_BULK(Fp16Lanes, "add.noftz.f16")
DUET_ADD_BULK(Bf16Lanes, "add.noftz.bf16")
DUET_ADD_BULK(Int32Lanes, "add.u32")
#undef DUET_ADD_BULK

// The tiles of a block in shared memory, used in turn. Only the block's first thread uses it.
class TileRing {
 public:
  // `loaded`: kTiles barriers in shared memory.
  __device__ TileRing(unsigned char* tiles, std::uint64_t* loaded)
      : tiles_(shared_address(tiles)), loaded_(shared_address(loaded)) {
    if (threadIdx.x > 0) return;
    for (unsigned i = 0; i < kTiles; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier(i)) : "memory");
    }
    fence_bulk();
  }

  // Adds `bytes`, a multiple of 16, from own memory to `to`; both are aligned to 16 bytes. When it
  // returns, all has been added.
  template <typename Type>
  __device__ void add(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    const std::uint64_t tiles = (bytes + kTile - 1) / kTile;
    for (std::uint64_t i = 0; i < tiles + kLoading; ++i) {
      if (i < tiles) load(from + i * kTile, bytes_of(i, bytes));
      if (i < kLoading) continue;
      const std::uint64_t sent = i - kLoading;
      if (sent < tiles) send<Type>(to + sent * kTile, bytes_of(sent, bytes));
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }

 private:
  static __device__ unsigned bytes_of(std::uint64_t tile, std::uint64_t bytes) {
    const std::uint64_t left = bytes - tile * kTile;
    return left < kTile ? static_cast<unsigned>(left) : kTile;
  }
  __device__ unsigned barrier(unsigned tile) const {
    return loaded_ + tile * static_cast<unsigned>(sizeof(std::uint64_t));
  }

  // The tile's last contents have been read when at most those sent since then are under way.
  __device__ void load(const unsigned char* from, unsigned bytes) {
    const unsigned tile = loads_++ % kTiles;
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kTiles - kLoading - 1) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier(tile)),
                 "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(tiles_ + tile * kTile),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier(tile))
        : "memory");
  }

  template <typename Type>
  __device__ void send(unsigned char* to, unsigned bytes) {
    const unsigned tile = sends_ % kTiles, parity = sends_ / kTiles % 2;
    ++sends_;
    wait_for(tile, parity);
    add_bulk<Type>(to, tiles_ + tile * kTile, bytes);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }

  __device__ void wait_for(unsigned tile, unsigned parity) const {
    unsigned done = 0;
    while (done == 0) {
      asm volatile(
          "{\n"
          ".reg .pred done;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
          "selp.u32 %0, 1, 0, done;\n"
          "}"
          : "=r"(done)
          : "r"(barrier(tile)), "r"(parity)
          : "memory");
    }
  }

  unsigned tiles_, loaded_;         // in shared memory
  unsigned loads_ = 0, sends_ = 0;  // tiles so far, of all items
};

// This block's slice of an item. Elements before the first and after the last vector of 16 bytes
// are added by plain accesses.
template <typename Type>
__device__ void add_slice(const gpu::LocalTableItem& item, unsigned char* const* addresses,
                          TileRing& ring) {
  constexpr unsigned kUnit = sizeof(typename Type::Element);
  const BlockSlice slice = own_slice(item.bytes, item.share);
  if (slice.begin == slice.end) return;
  const Piece piece{addresses, addresses + item.sources, 2, 1, slice.begin,
                    0,         {threadIdx.x, kWarp}};
  const AlignedSlice pieces = cut(piece, slice.end - slice.begin, sizeof(Quad), kUnit);
  reduce_any<SingleWords<Type>, Sum>(pieces.head, 1);
  reduce_any<SingleWords<Type>, Sum>(pieces.tail, 1);
  if (threadIdx.x > 0 || pieces.words.count == 0) return;
  const std::uint64_t at = pieces.words.offset;
  fence_bulk();
  ring.add<Type>(addresses[0] + at, addresses[1] + at, pieces.words.count * sizeof(Quad));
  fence_bulk();
}

#endif

template <typename Type>
__global__ void __launch_bounds__(kWarp) add_kernel(gpu::LocalKernelTable table) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char tiles[];
  __shared__ std::uint64_t loaded[kTiles];
  TileRing ring(tiles, loaded);
  for (int i = 0; i < table.item_count; ++i) {
    const gpu::LocalTableItem item = table.items[i];
    const ItemSemaphores semaphores = semaphores_of(table, item);
    const bool has_semaphores = semaphores.waits + semaphores.signals > 0;
    if (has_semaphores) wait_for_item(table, i, item, semaphores);
    if (item.sources > 0) add_slice<Type>(item, table.addresses + item.first, ring);
    if (has_semaphores) signal_item(table, i, semaphores);
  }
#endif
}

using AddKernel = void (*)(gpu::LocalKernelTable);

AddKernel add_kernel_of(DType dtype) {
  if (dtype == DType::fp16) return add_kernel<Fp16Lanes>;
  if (dtype == DType::bf16) return add_kernel<Bf16Lanes>;
  if (dtype == DType::int32) return add_kernel<Int32Lanes>;
  return add_kernel<Fp32Lanes>;
}

}  // namespace

bool load_add_kernels(const cudaDeviceProp& properties) {
  if (properties.major < 9) return false;
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::int32}) {
    cudaFuncAttributes attributes{};
    DUET_GPU_CHECK(cudaFuncGetAttributes(&attributes, add_kernel_of(dtype)));
    if (attributes.binaryVersion < 90) return false;  // built for older devices
    DUET_GPU_CHECK(cudaFuncSetAttribute(add_kernel_of(dtype),
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  }
  return true;
}

void launch_add_kernel(const gpu::LocalKernelTable& table, DType dtype, int blocks,
                       cudaStream_t stream) {
  add_kernel_of(dtype)<<<dim3(static_cast<unsigned>(blocks)), dim3(kWarp), kSharedBytes, stream>>>(
      table);
  DUET_GPU_CHECK(cudaGetLastError());
}

}  // namespace duet::cuda
