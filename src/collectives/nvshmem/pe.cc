#include "collectives/nvshmem/pe.h"

#include <fmt/format.h>

#include <limits>

#include "core/error.h"

namespace duet::nvshmem {
namespace {

constexpr double kJoinSeconds = 120;

void* allocated(const Calls& calls, int pe, std::size_t bytes) {
  void* const memory = calls.allocate(pe, bytes);
  if (memory != nullptr) return memory;
  throw OutOfMemory(fmt::format("nvshmem: no room for {} symmetric bytes", bytes));
}

}  // namespace

void require(const Calls& calls, int result, const char* what) {
  if (result != 0) throw Error(fmt::format("nvshmem: {}: {}", what, calls.error()));
}

void require_one_gpu_a_process(const Calls& calls, Team& team) {
  team.together([&] {
    if (team.local_size() == 1 || calls.several_pes_a_process) return;
    throw Unavailable(fmt::format(
        "nvshmem: expected one process a GPU, as mpirun -n N starts them; this one has {} GPUs",
        team.local_size()));
  });
}

void join(const Calls& calls, Rank& rank) {
  std::string id(kIdBytes, '\0');
  rank.device.make_current();
  if (rank.index == 0) require(calls, calls.unique_id(id.data()), "unique id");
  const auto all = rank.team.gather(rank, id, "rank 0 to send NVSHMEM's unique id", kJoinSeconds);
  require(calls, calls.init(all->front().data(), rank.index, rank.size), "init");
}

SymmetricMemory::SymmetricMemory(const Calls& calls, Rank& rank, std::size_t bytes,
                                 const Watchdog& watchdog)
    : calls_(calls),
      pe_(rank.index),
      watchdog_(watchdog),
      made_at_(watchdog.failures()),
      memory_((rank.device.make_current(), allocated(calls, pe_, bytes))),
      span_(rank.device.adopt(memory_, bytes)) {}

SymmetricMemory::~SymmetricMemory() {
  if (watchdog_.well(made_at_)) calls_.release(pe_, memory_);
}

// GPUs compare words as unsigned numbers here; the largest signed one is above every count.
void release_words(Device& device, std::uint64_t* words, std::size_t count) noexcept {
  constexpr std::uint64_t kReleased = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    try {
      device.signal({word_span(device, words + i)}, kReleased);
    } catch (const std::exception&) {
      return;  // the device is gone, and its streams with it
    }
  }
}

}  // namespace duet::nvshmem
