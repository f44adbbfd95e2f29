#include "device/collective_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "core/error.h"
#include "device/reduce.h"

namespace duet {
namespace {

bool is_reduced_in_fp32(DType dtype) {
  return dtype == DType::fp32 || dtype == DType::fp16 || dtype == DType::bf16;
}

std::size_t misalignment(const Span& span, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(span.data) % alignment;
}

void check_elements(const Span& span, DType dtype) {
  const std::size_t size = size_of(dtype);
  if (span.bytes % size == 0 && misalignment(span, size) == 0) return;
  throw BadArgument(fmt::format(
      "kernel: a reduction of {}: expected spans of whole elements, aligned to {} bytes",
      name(dtype), size));
}

void require_reducible(DType dtype) {
  if (is_reducible(dtype)) return;
  throw BadArgument(
      fmt::format("kernel: a reduction of {}: expected fp32, fp16, bf16 or int32", name(dtype)));
}

void check_item(const KernelItem& item, DType dtype) {
  if (item.sources.empty() || item.destinations.empty()) {
    throw BadArgument("kernel: an item of no sources or no destinations");
  }
  const bool reduces = item.sources.size() > 1;
  if (reduces) require_reducible(dtype);
  for (const auto* spans : {&item.sources, &item.destinations}) {
    for (const Span& span : *spans) {
      if (span.bytes != item_bytes(item)) {
        throw BadArgument(fmt::format("kernel: spans of {} and {} bytes in one item",
                                      item_bytes(item), span.bytes));
      }
      if (reduces) check_elements(span, dtype);
    }
  }
}

bool is_addition(const KernelItem& item) {
  return item.sources.size() == 2 && item.destinations.size() == 1 &&
         item.sources.front().data == item.destinations.front().data;
}

void check_addition(const LocalKernel& kernel, const KernelItem& item) {
  if (kernel.op == Reduction::sum && is_addition(item)) return;
  throw BadArgument(
      "kernel: a kernel that adds: expected a sum of two sources to the first of them");
}

void check_blocks(int blocks) {
  if (blocks < 0) throw BadArgument("kernel: expected a number of blocks from 0");
}

void check_words(const Span& words, int blocks) {
  const std::size_t expected = static_cast<std::size_t>(blocks) * sizeof(std::uint64_t);
  if (words.bytes == expected && misalignment(words, sizeof(std::uint64_t)) == 0) return;
  throw BadArgument(
      fmt::format("kernel: semaphores of {} bytes: expected {} for {} blocks, aligned to 8",
                  words.bytes, expected, blocks));
}

void check_packet_span(const Span& span, std::size_t bytes, std::size_t alignment) {
  if (span.bytes == bytes && misalignment(span, alignment) == 0) return;
  throw BadArgument(fmt::format("kernel: a packet span of {} bytes: expected {}, aligned to {}",
                                span.bytes, bytes, alignment));
}

// That the peers are all ranks but this one.
void check_packet_ranks(const PacketKernel& kernel) {
  const std::size_t peers = kernel.peers.size();
  if (peers == 0 || peers != kernel.barrier.awaits.size() || peers > kMostPacketPeers) {
    throw BadArgument(fmt::format("kernel: packet parts of {} peers: expected all {}, at most {}",
                                  peers, kernel.barrier.awaits.size(), kMostPacketPeers));
  }
  std::set<int> ranks{kernel.rank};
  for (const PacketPeer& peer : kernel.peers) ranks.insert(peer.rank);
  const auto all = static_cast<int>(peers) + 1;
  if (static_cast<int>(ranks.size()) == all && *ranks.begin() == 0 && *ranks.rbegin() == all - 1) {
    return;
  }
  throw BadArgument(fmt::format("kernel: packets of ranks {}: expected 0 to {}",
                                fmt::join(ranks, ", "), all - 1));
}

void check_norm(const RowNorm& norm, DType dtype, const Span& result) {
  if (!can_normalise(dtype, norm.columns)) {
    throw BadArgument(fmt::format(
        "kernel: rows of {} x {} to normalise: expected fp32, fp16 or bf16, multiples of 8 bytes "
        "and at most {}",
        norm.columns, name(dtype), kMostNormRow));
  }
  const std::size_t row = norm.columns * size_of(dtype);
  if (result.bytes == 0 || result.bytes % row != 0) {
    throw BadArgument(
        fmt::format("kernel: {} bytes to normalise: expected rows of {}", result.bytes, row));
  }
  check_packet_span(result, result.bytes, kPacketDataBytes);
  check_packet_span(norm.residual, result.bytes, kPacketDataBytes);
  check_packet_span(norm.updated, result.bytes, kPacketDataBytes);
  check_packet_span(norm.weight, row, kPacketDataBytes);
}

float root_mean_square(const std::byte* row, DType dtype, std::size_t columns, float epsilon) {
  double squares = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    const auto value = static_cast<double>(load(dtype, row + i * size_of(dtype)));
    squares += value * value;
  }
  const double mean = squares / static_cast<double>(columns);
  return static_cast<float>(std::sqrt(mean + static_cast<double>(epsilon)));
}

}  // namespace

bool can_normalise(DType dtype, std::size_t columns) {
  const std::size_t bytes = columns * size_of(dtype);
  return is_reduced_in_fp32(dtype) && bytes > 0 && bytes % kPacketDataBytes == 0 &&
         bytes <= kMostNormRow;
}

const PeerKernel& without_packets(const PacketKernel& kernel) {
  if (!kernel.norm) return kernel.barrier;
  throw BadArgument("kernel: this device does not normalise what packets bring");
}

void normalise_rows(const NormKernel& kernel, std::size_t first, std::size_t count) {
  const RowNorm& norm = kernel.norm;
  const std::size_t size = size_of(kernel.dtype), row = norm.columns * size;
  for (std::size_t at = first * row; at < (first + count) * row; at += row) {
    for (std::size_t i = at; i < at + row; i += size) {
      float sum = 0;
      for (const Span& source : kernel.sources) sum += load(kernel.dtype, source.data + i);
      store(kernel.dtype, norm.updated.data + i, load(kernel.dtype, norm.residual.data + i) + sum);
    }
    const std::byte* const updated = norm.updated.data + at;
    const float root = root_mean_square(updated, kernel.dtype, norm.columns, norm.epsilon);
    for (std::size_t i = 0; i < row; i += size) {
      const float scaled = load(kernel.dtype, updated + i) / root;
      store(kernel.dtype, kernel.result.data + at + i,
            scaled * load(kernel.dtype, norm.weight.data + i));
    }
  }
}

bool has_semaphores(const LocalKernelItem& item) {
  return !item.waits.empty() || !item.signals.empty();
}

bool has_semaphores(const LocalKernel& kernel) {
  return std::any_of(kernel.items.begin(), kernel.items.end(),
                     [](const LocalKernelItem& item) { return has_semaphores(item); });
}

LocalKernel without_blocks(LocalKernel kernel) {
  for (LocalKernelItem& item : kernel.items) {
    for (auto* semaphores : {&item.waits, &item.signals}) {
      for (Semaphore& semaphore : *semaphores) {
        semaphore.word = semaphore.word.slice(0, sizeof(std::uint64_t));
      }
    }
  }
  kernel.semaphores_by_block = false;
  return kernel;
}

LocalKernel without_peers(const PeerKernel& kernel) {
  LocalKernel local;
  for (const KernelItem& item : kernel.items) local.items.push_back({item, {}, {}});
  local.dtype = kernel.dtype;
  local.op = kernel.op;
  local.blocks = kernel.blocks;
  return local;
}

void check_kernel(const LocalKernel& kernel) {
  check_blocks(kernel.blocks);
  if (kernel.semaphores_by_block && kernel.blocks == 0) {
    throw BadArgument("kernel: with semaphores by block, expected a number of blocks");
  }
  const int words = kernel.semaphores_by_block ? kernel.blocks : 1;
  for (const LocalKernelItem& item : kernel.items) {
    const bool no_spans = item.sources.empty() && item.destinations.empty();
    if (!no_spans || !has_semaphores(item)) {
      check_item(item, kernel.dtype);
      if (kernel.adds) check_addition(kernel, item);
    }
    for (const Semaphore& semaphore : item.waits) check_words(semaphore.word, words);
    for (const Semaphore& semaphore : item.signals) check_words(semaphore.word, words);
  }
}

void check_kernel(const PeerKernel& kernel) {
  check_blocks(kernel.blocks);
  for (const KernelItem& item : kernel.items) check_item(item, kernel.dtype);
  if (kernel.arrivals.size() != kernel.awaits.size()) {
    throw BadArgument(
        fmt::format("kernel: semaphores of {} peers to signal and of {} to wait for: expected as "
                    "many",
                    kernel.arrivals.size(), kernel.awaits.size()));
  }
  if (!kernel.awaits.empty() && kernel.blocks == 0) {
    throw BadArgument("kernel: with peers, expected a number of blocks, the same on all ranks");
  }
  for (const Span& words : kernel.arrivals) check_words(words, kernel.blocks);
  for (const Span& words : kernel.awaits) check_words(words, kernel.blocks);
}

void check_kernel(const PacketKernel& kernel) {
  check_kernel(kernel.barrier);
  const std::size_t bytes = kernel.source.bytes;
  if (bytes == 0 || bytes > kMostPacketPart) {
    throw BadArgument(
        fmt::format("kernel: packet parts of {} bytes: expected 1 to {}", bytes, kMostPacketPart));
  }
  check_packet_ranks(kernel);
  std::size_t element = 1;
  if (kernel.reduces) {
    require_reducible(kernel.barrier.dtype);
    element = size_of(kernel.barrier.dtype);
    if (bytes % element != 0) throw BadArgument("kernel: a packet part cuts an element");
  }
  const bool is_sum = kernel.reduces &&
                      (kernel.barrier.op == Reduction::sum || kernel.barrier.op == Reduction::avg);
  if (!kernel.numbered && !(is_sum && is_reduced_in_fp32(kernel.barrier.dtype)))
    throw BadArgument("kernel: packets without numbers: expected a sum of floating-point numbers");
  check_packet_span(kernel.source, bytes, element);
  check_packet_span(kernel.destination, bytes, element);
  for (const PacketPeer& peer : kernel.peers) {
    check_packet_span(peer.source, bytes, element);
    check_packet_span(peer.destination, bytes, element);
    check_packet_span(peer.to_peer, packet_buffer_bytes(bytes), 2 * kPacketDataBytes);
    check_packet_span(peer.from_peer, packet_buffer_bytes(bytes), 2 * kPacketDataBytes);
  }
  if (!kernel.norm) return;
  if (!kernel.reduces || kernel.barrier.op != Reduction::sum)
    throw BadArgument("kernel: packets to normalise: expected a sum");
  check_norm(*kernel.norm, kernel.barrier.dtype, kernel.destination);
  check_packet_span(kernel.source, bytes, kPacketDataBytes);
  for (const PacketPeer& peer : kernel.peers)
    check_packet_span(peer.source, bytes, kPacketDataBytes);
}

void check_kernel(const NormKernel& kernel) {
  if (kernel.sources.empty() || kernel.sources.size() > kMostPacketPeers + 1) {
    throw BadArgument(fmt::format("kernel: {} sources to normalise: expected 1 to {}",
                                  kernel.sources.size(), kMostPacketPeers + 1));
  }
  check_norm(kernel.norm, kernel.dtype, kernel.result);
  for (const Span& source : kernel.sources)
    check_packet_span(source, kernel.result.bytes, kPacketDataBytes);
}

}  // namespace duet
