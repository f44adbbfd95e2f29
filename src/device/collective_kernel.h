// The kernels that collectives are made of. Each is one launch of the compute units that copies and
// reduces; they differ in how they synchronise with what else runs:
//   LocalKernel   by semaphores before and after single items, or not at all;
//   PeerKernel    by a barrier with all peers' launches before the items and one after them;
//   PacketKernel  by packets that carry the number of their call, without a barrier (NCCL's LL);
//   NormKernel    not at all: it sums and normalises rows of this device's memory.
// The work is divided by blocks: block b of the launch handles slice b of every item, or every row
// whose number is b modulo the number of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/random.h"
#include "core/reduction.h"
#include "device/buffer.h"

namespace duet {

// All spans have one size. One source is copied to every destination. Several sources are reduced
// element by element, and the result is written to every destination. A destination may be one of
// the item's own sources; apart from that, no destination may overlap another span of the launch.
// Spans may lie on peers whose memory the device reaches.
struct KernelItem {
  std::vector<Span> sources;
  std::vector<Span> destinations;
  // What an average divides the sum by; 0: the number of sources. A LocalKernel's alone.
  std::uint32_t divisor = 0;
};

// The divisor where it is given, else the number of sources.
inline std::uint32_t divisor_of(const KernelItem& item) {
  return item.divisor > 0 ? item.divisor : static_cast<std::uint32_t>(item.sources.size());
}

// Starts when all `waits` are 1. When it is done it sets them back to 0 and then sets `signals`
// to 1. An item with semaphores may have no spans.
struct LocalKernelItem : KernelItem {
  std::vector<Semaphore> waits;
  std::vector<Semaphore> signals;
};

// Items begin in order. Each block goes on to the next one alone, so an item may touch what an
// earlier one has touched only where it, or one between them, waits for what the signals of the
// earlier one have led to.
struct LocalKernel {
  std::vector<LocalKernelItem> items;
  DType dtype = DType::fp32;      // of elements that are reduced; copies ignore it
  Reduction op = Reduction::sum;  // copies ignore it
  int blocks = 0;                 // 0: the device chooses
  // Each semaphore consists of `blocks` adjacent words: block b waits for word b and sets it, for
  // its own slice. All kernels that share such a semaphore have the same number of blocks, and
  // items of one size. Devices that do not work by blocks use the first word alone.
  bool semaphores_by_block = false;
  // Every item with spans adds its second source to its first, which is its only destination, and
  // may lie on a peer. Where Device::adds_in_flight(), nothing is read from there, and blocks have
  // one warp.
  bool adds = false;
};

// Block b synchronises with block b of every peer before the items and after them. No rank starts
// before all have launched. When the kernel ends, all writes of peers have arrived, and no peer
// still reads this rank's memory. Items run side by side.
struct PeerKernel {
  std::vector<KernelItem> items;
  DType dtype = DType::fp32;
  Reduction op = Reduction::sum;
  int blocks = 0;  // the same number on every rank; 0 only without peers

  // For each peer `blocks` 64-bit words; both lists have the same order of peers. The words are 0
  // when the kernel is prepared, and nothing else may write them from then on: call n (from 0)
  // writes 2n + 1 before the items and 2n + 2 after them. If a peer is gone, the largest signed
  // number, written to the words awaited from it, releases the waits.
  std::vector<Span> arrivals;  // at the peer; this rank writes them
  std::vector<Span> awaits;    // at this rank; the peer writes them

  // Whether there is a barrier before and after the items. One can be left out where a kernel
  // before or after this one on the same streams has it.
  bool opens = true;
  bool closes = true;
};

// What follows a sum, row by row of `columns` elements. With s the sum in fp32, r the residual and
// w the weight:
//   h = r + s, rounded to the type of the elements, is written to `updated`;
//   h / sqrt(mean of h^2 over the row + epsilon) * w, rounded, is the result.
// `residual` and `updated` have the result's size and may be one span, else they overlap nothing
// else; `weight` is a row. All are aligned to 8 bytes.
struct RowNorm {
  Span residual, updated, weight;
  std::size_t columns = 0;
  float epsilon = 0;
};
// A row has whole multiples of 8 bytes, and at most so many.
inline constexpr std::size_t kMostNormRow = 32 << 10;
// Whether rows of so many elements can be normalised: fp32, fp16 or bf16, and the size above.
bool can_normalise(DType dtype, std::size_t columns);

// The sum of the sources, in their order, normalised. `result` may be one of the sources; apart
// from that the spans are disjoint. At most kMostPacketPeers + 1 sources.
struct NormKernel {
  std::vector<Span> sources;
  Span result;
  RowNorm norm;
  DType dtype = DType::fp32;
};

// The spans between this rank and one peer. Packet buffers are 0 when the kernel is prepared, and
// nothing else may write them from then on. Each has packet_buffer_bytes() bytes.
struct PacketPeer {
  int rank = 0;      // of the peer, among all
  Span source;       // this rank's part for the peer
  Span to_peer;      // packet buffer at the peer; this rank writes it
  Span from_peer;    // packet buffer at this rank; the peer writes it
  Span destination;  // for the peer's part; where parts are reduced, the same for all peers
};

// Each rank pushes packets into a buffer at every peer and polls its own buffers for the number of
// the call. A call ends when all packets for this rank have arrived; then all peers have launched
// it. What is reduced has the same bits on all ranks.
struct PacketKernel {
  // The same result with a barrier: for devices without packets (host, sim). Devices with packets
  // use its dtype and operation, and of its awaited words only the number that releases waits.
  PeerKernel barrier;

  int rank = 0;  // of peers.size() + 1

  Span source;  // this rank's part for itself: copied, or reduced with all parts that arrive
  Span destination;
  std::vector<PacketPeer> peers;  // in the order of barrier.awaits
  bool reduces = false;
  // Whether packets have the number of their call beside the data, so that any data may be sent.
  // Without it half the bytes are sent: of sums and averages of floating-point numbers alone, in
  // which a NaN may change its bits on the way. The same on all ranks.
  bool numbered = true;
  // Of a sum, on devices that normalise what packets bring (Device::normalises_packets()): the
  // destination has the result.
  std::optional<RowNorm> norm = std::nullopt;
};

using CollectiveKernel = std::variant<LocalKernel, PeerKernel, PacketKernel, NormKernel>;

inline constexpr std::size_t kPacketDataBytes = 8;       // of a packet
inline constexpr std::size_t kMostPacketPart = 1 << 30;  // bytes
inline constexpr std::size_t kMostPacketPeers = 16;
inline constexpr int kKernelThreads = 512;  // of a block

// Blocks of a kernel that reduces what copy engines bring. A block loads some 40 GB/s on an H200.
// Two ranks load two bytes for each that the links bring, 4 ranks 1.3 and 8 ranks 1.1, so two need
// more blocks to keep up: 16 reduce 260 GB/s of them, 24 reduce 343 GB/s.
constexpr int blocks_that_reduce(int ranks) { return ranks == 2 ? 24 : 16; }

// The size of a packet buffer for parts of `bytes` bytes. It holds the packets of two calls, and
// half of each packet is its number. A rank may be one call ahead of a peer but never two, because
// each call needs the peer's part.
constexpr std::size_t packet_buffer_bytes(std::size_t bytes) {
  return 4 * kPacketDataBytes * ((bytes + kPacketDataBytes - 1) / kPacketDataBytes);
}

// The slice of `bytes` that a block handles. Slices begin at multiples of 2 KiB: no vector of 16
// bytes and no element is cut, and a slice is worth the work of a few warps.
struct BlockSlice {
  std::size_t begin = 0;
  std::size_t end = 0;
};

DUET_HOST_DEVICE inline BlockSlice block_slice(std::size_t bytes, int block, int blocks) {
  constexpr std::size_t kUnit = 2048;
  const std::size_t units = (bytes + kUnit - 1) / kUnit;
  const std::size_t share =
      (units + static_cast<std::size_t>(blocks) - 1) / static_cast<std::size_t>(blocks) * kUnit;
  const std::size_t begin = share * static_cast<std::size_t>(block);
  if (begin >= bytes) return {bytes, bytes};
  return {begin, begin + share < bytes ? begin + share : bytes};
}

// By how many bytes the spans lie elsewhere than when the kernel was prepared: those of data that
// this rank reads, those that it writes, and a RowNorm's.
struct KernelShift {
  std::ptrdiff_t sources = 0, destinations = 0;
  std::ptrdiff_t residual = 0, updated = 0, weight = 0;
};

// A kernel bound to its spans, made by Device::prepare(). One stream at a time launches it, since
// its calls are counted. It and the spans must live until its launches are done.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  // Whether shift() may be called: no other rank reaches the spans that it moves.
  virtual bool can_shift() const { return false; }
  // Of later launches; each call counts from where the spans were at first. Throws BadArgument for
  // addresses that the kernel cannot work on, and then changes nothing.
  virtual void shift(const KernelShift&) {}
};

// The checks that hold on every device. Each throws BadArgument for
// - an item without sources or destinations, or with spans of unequal sizes;
// - a kernel that adds, with an item of another form or another operation than a sum;
// - elements that are cut, unaligned, or of a type that is not reduced;
// - words that do not fit the number of blocks;
// - packets: more than kMostPacketPeers peers, ranks that are not all others, parts that are not of
//   one size or cut an element that is reduced, buffers that do not fit their parts, or no numbers
//   where the data need them;
// - rows that cannot be normalised, or spans of another size.
// The numbers of items, spans and, without packets, peers have no limit.
void check_kernel(const LocalKernel& kernel);
void check_kernel(const PeerKernel& kernel);
void check_kernel(const PacketKernel& kernel);
void check_kernel(const NormKernel& kernel);

bool has_semaphores(const LocalKernelItem& item);
// Whether any item waits or signals.
bool has_semaphores(const LocalKernel& kernel);

// The same kernel for a device that does not work by blocks: each semaphore is its first word.
LocalKernel without_blocks(LocalKernel kernel);

// The same kernel where there are no peers to synchronise with.
LocalKernel without_peers(const PeerKernel& kernel);

// The same kernel for a device without packets. Throws BadArgument for one that normalises.
const PeerKernel& without_packets(const PacketKernel& kernel);

// Rows [first, first + count) of a NormKernel whose memory the CPU can address, by the calling
// thread.
void normalise_rows(const NormKernel& kernel, std::size_t first, std::size_t count);

// Bytes of each of an item's spans.
inline std::size_t item_bytes(const KernelItem& item) {
  return item.sources.empty() ? 0 : item.sources.front().bytes;
}

}  // namespace duet
