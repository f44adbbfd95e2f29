#include "fabric/proxy/fifo.h"

#include <atomic>
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

// Waits until `word` is at least `least`; false: gave up.
bool wait_for(const std::uint64_t& word, std::uint64_t least, const Fifo::KeepWaiting& wait) {
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

Fifo::Fifo(std::byte* memory, std::size_t capacity, std::byte* as_device)
    : counters_(counters_at(memory)),
      slots_(slots_at(memory)),
      capacity_(capacity),
      as_device_(as_device == nullptr ? memory : as_device) {
  if (capacity == 0 || (capacity & (capacity - 1)) != 0) {
    throw BadArgument("a fifo's capacity is a power of two");
  }
  std::memset(memory, 0, bytes(capacity));
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

std::uint64_t Fifo::push(const ProxyCommand& command, const KeepWaiting& wait) {
  const std::uint64_t number = __atomic_fetch_add(&counters_->head, 1, __ATOMIC_RELAXED);
  // The slot's last command must have been popped.
  if (number >= capacity_ && !wait_for(counters_->tail, number - capacity_ + 1, wait)) return 0;
  FifoSlot& mine = slot(number);
  mine.command = command;
  store_release(mine.sequence, number + 1);
  return number + 1;
}

bool Fifo::quiet(std::uint64_t ticket, const KeepWaiting& wait) const {
  return wait_for(counters_->done, ticket, wait);
}

bool Fifo::pop(ProxyCommand& command) {
  FifoSlot& next = slot(popped_);
  if (load_acquire(next.sequence) != popped_ + 1) return false;
  command = next.command;
  publish(counters_->tail, ++popped_);
  return true;
}

void Fifo::complete(std::uint64_t count) { publish(counters_->done, count); }

// The fence: writes over the bus may be held back to be combined with later ones.
void Fifo::publish(std::uint64_t& word, std::uint64_t value) {
  store_release(word, value);
  if (as_device_ != reinterpret_cast<std::byte*>(counters_)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

FifoMemory::FifoMemory(Device& device, MemoryKind kind, std::size_t capacity)
    : capacity_(capacity),
      buffer_(device.allocate(Fifo::bytes(capacity), kind)),
      view_(device.view(buffer_.span())) {}

Fifo FifoMemory::fifo() const { return {view_->data(), capacity_, buffer_.span().data}; }

}  // namespace duet
