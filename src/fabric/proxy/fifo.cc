// The queue's words; see fifo.h.
#include "fabric/proxy/fifo.h"

#include <cstring>
#include <thread>

#include "core/error.h"

namespace duet {
namespace {

constexpr int kSpins = 100;  // before the core is left to others

std::uint64_t load_acquire(const std::uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

void store_release(std::uint64_t& word, std::uint64_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

// Until the word is at least so much.
bool wait_for(const std::uint64_t& word, std::uint64_t least, const Fifo::Patience& wait) {
  for (int spins = 0; load_acquire(word) < least; ++spins) {
    if (spins < kSpins) continue;
    if (wait && !wait()) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

std::size_t Fifo::bytes(std::size_t capacity) {
  return sizeof(FifoCounters) + capacity * sizeof(FifoSlot);
}

Fifo::Fifo(std::byte* memory, std::size_t capacity)
    : counters_(reinterpret_cast<FifoCounters*>(memory)),
      slots_(reinterpret_cast<FifoSlot*>(memory + sizeof(FifoCounters))),
      capacity_(capacity) {
  if (capacity == 0 || (capacity & (capacity - 1)) != 0) {
    throw BadArgument("a fifo's capacity is a power of two");
  }
  std::memset(memory, 0, bytes(capacity));
}

std::uint64_t Fifo::push(const ProxyCommand& command, const Patience& wait) {
  const std::uint64_t number = __atomic_fetch_add(&counters_->head, 1, __ATOMIC_RELAXED);
  // The slot's last command must have been popped.
  if (number >= capacity_ && !wait_for(counters_->tail, number - capacity_ + 1, wait)) return 0;
  FifoSlot& mine = slot(number);
  mine.command = command;
  store_release(mine.sequence, number + 1);
  return number + 1;
}

bool Fifo::quiet(std::uint64_t ticket, const Patience& wait) const {
  return wait_for(counters_->done, ticket, wait);
}

bool Fifo::pop(ProxyCommand& command) {
  const std::uint64_t number = counters_->tail;
  FifoSlot& next = slot(number);
  if (load_acquire(next.sequence) != number + 1) return false;
  command = next.command;
  store_release(counters_->tail, number + 1);
  return true;
}

void Fifo::complete(std::uint64_t count) { store_release(counters_->done, count); }

}  // namespace duet
