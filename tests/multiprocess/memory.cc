#include <fmt/format.h>

#include <vector>

#include "core/error.h"
#include "scenarios.h"
#include "team/peer_memory.h"

namespace duet::multiprocess {
namespace {

constexpr double kDeadline = 20;
constexpr std::size_t kBytes = 70000;  // from one rank to another

struct Exchange {
  explicit Exchange(Rank& rank)
      : count(static_cast<std::size_t>(rank.size)),
        out(rank.device.allocate(kBytes)),
        in(rank.device.allocate(count * kBytes)),
        semaphores(rank.device.allocate_coherent(2 * count * sizeof(std::uint64_t))),
        stream(rank.device.make_stream()) {
    stream->fill(semaphores.span(), {FillKind::constant, 0, 0, DType::fp32});
    stream->synchronize(kDeadline);
  }
  std::size_t count;
  Buffer out, in,
      semaphores;  // word i: rank i's bytes have arrived; word count + i: rank i has read mine
  std::unique_ptr<Stream> stream;
};

Semaphore semaphore_of(const Span& words, std::size_t index) { return {words.slice(8 * index, 8)}; }

Fill pattern(int rank, std::uint64_t round) {
  return {FillKind::pattern, round * 100 + static_cast<std::uint64_t>(rank), 0, DType::fp32};
}

// Writes this rank's pattern to all ranks' memory, waits for all ranks' patterns, checks them and
// signals that it has read them.
void run_round(Rank& rank, Exchange& own, const PeerMemory& in, const PeerMemory& semaphores,
               std::uint64_t round) {
  const auto self = static_cast<std::size_t>(rank.index);
  Stream& stream = *own.stream;
  stream.fill(own.out.span(), pattern(rank.index, round));
  for (int i = 0; i < rank.size; ++i) {
    const int peer = (rank.index + i) % rank.size;
    const auto index = static_cast<std::size_t>(peer);
    stream.wait(semaphore_of(own.semaphores.span(), own.count + index), round - 1);
    const Executor by = round % 2 == 0 ? Executor::dma : Executor::kernel;
    stream.copy({in.at(peer).slice(self * kBytes, kBytes), own.out.span(), by, {}});
    stream.signal(semaphore_of(semaphores.at(peer), self), round);
  }
  for (std::size_t i = 0; i < own.count; ++i)
    stream.wait(semaphore_of(own.semaphores.span(), i), round);
  stream.synchronize(kDeadline);
  for (int i = 0; i < rank.size; ++i) {
    const Span bytes = own.in.slice(static_cast<std::size_t>(i) * kBytes, kBytes);
    require(!rank.device.check(bytes, pattern(i, round)).has_value(),
            fmt::format("round {}: rank {} has other bytes of rank {}", round, rank.index, i));
    stream.signal(semaphore_of(semaphores.at(i), own.count + self), round);
  }
  stream.synchronize(kDeadline);
}

}  // namespace

void memory(Team& team) {
  team.each([&](Rank& rank) {
    Exchange own(rank);
    const PeerMemory in(rank, own.in.span(), "memory to write to", kDeadline);
    PeerMemory again(rank, own.in.slice(8, 80), "a part of the same memory", kDeadline);
    {
      const PeerMemory semaphores(rank, own.semaphores.span(), "semaphores", kDeadline);
      for (std::uint64_t round = 1; round <= 200; ++round)
        run_round(rank, own, in, semaphores, round);
      again = PeerMemory(rank, Span{}, "memory of no bytes", kDeadline);
      require(again.at(0).bytes == 0, "an empty span became one");
      team.barrier("all ranks to be done with the semaphores", kDeadline);
    }
    const Buffer pinned = rank.device.allocate(64, MemoryKind::pinned);
    const bool one = rank.size == team.local_size();
    try {
      const PeerMemory none(rank, pinned.span(), "pinned memory", kDeadline);
      require(one, "pinned memory went to another process");
    } catch (const Unavailable& error) {
      require(std::string(error.what()).find("memory of rank") != std::string::npos, error.what());
    }
    team.barrier("all ranks to be done with the memory", kDeadline);
  });
}

// Streams that wait for a dead rank's semaphore are released when its death is reported.
void wait_at_semaphore(Team& team) {
  team.each([&](Rank& rank) {
    Exchange own(rank);
    const PeerMemory semaphores(rank, own.semaphores.span(), "semaphores", kDeadline);
    if (rank.index == rank.size - 1) return idle(team);
    const Semaphore awaited = semaphore_of(own.semaphores.span(), own.count - 1);
    const int callback =
        team.processes()->on_failure([&](const std::string&) { rank.device.signal(awaited, 1); });
    own.stream->wait(awaited, 1);
    own.stream->synchronize(kDeadline);
    team.processes()->forget(callback);
    team.barrier("all ranks to have signalled", kDeadline);
  });
}

}  // namespace duet::multiprocess
