// How many calls a program has made, of which communicators, and by what means they were made.
// Nothing is counted without DUET_NCCL_METRICS.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "collectives/nccl/abi.h"
#include "nccl_shim/protocol/call.h"
#include "nccl_shim/protocol/message_copies.h"

namespace duet::nccl_shim {

// The first ones in the order of Kind.
enum class CountedKind {
  all_gather,
  all_to_all,
  broadcast,
  reduce_scatter,
  all_reduce,
  reduce,
  gather,
  scatter,
  send,
  receive,
  put_signal,
  signal,
  wait_signal,
};
constexpr std::size_t kCountedKinds = 13;
const char* name_of(CountedKind kind);

// A call, as it is counted.
struct Counted {
  CountedKind kind;
  std::size_t bytes;
  bool each_rank = false;  // `bytes` are those of one rank's part

  // As thresholds count them.
  std::uint64_t all_bytes(int ranks) const {
    return bytes * static_cast<std::size_t>(each_rank ? ranks : 1);
  }
};
Counted counted(const Call& call);
Counted counted(const Message& message);

// What makes a call: the real NCCL, to which it is forwarded, or the drop-in by copy engines,
// packets or its kernel of chunks.
enum class Means { nccl, copies, packets, kernel };
constexpr std::size_t kMeans = 4;
const char* name_of(Means means);

// Calls are counted by size: up to each of these, and beyond.
constexpr std::array<std::uint64_t, 5> kCountedSizes = {4 << 10, 64 << 10, 1 << 20, 16 << 20,
                                                        256 << 20};

// Of calls of one kind that are made by one means.
struct Counts {
  std::array<std::atomic<std::uint64_t>, kCountedSizes.size() + 1> calls{};  // by size
  std::atomic<std::uint64_t> bytes{0};
};

// Of one rank of a communicator. It lives as long as the process.
struct CommunicatorCounts {
  int number;  // in the order in which communicators of this process made their first calls
  int rank, ranks;
  std::array<std::array<Counts, kCountedKinds>, kMeans> calls{};  // by Means
};

// Whether there is anything to count, which does not change.
bool counts_calls();

// Of the communicator, from its first call on; null if NCCL does not know its ranks (yet).
CommunicatorCounts* counts_of(nccl::Comm handle);

// Counts a call that the program has made: two relaxed additions.
void count_call(CommunicatorCounts& communicator, const Counted& call, Means means);

// Before a communicator ends, whose handle another one may get. What was counted stays.
void end_counts(nccl::Comm handle);

// Calls `see` for all communicators of which calls were counted, in the order of their numbers.
void each_counts(const std::function<void(const CommunicatorCounts&)>& see);

}  // namespace duet::nccl_shim
