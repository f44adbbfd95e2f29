// The queue between those who want data moved and the thread that moves them: bounded, of any
// number of producers and one consumer, in memory that both reach. Its words are those of
// device/command_fifo.h, so that producers may be a GPU's threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "device/command_fifo.h"

namespace duet {

class Fifo {
 public:
  // What asks it whether to go on waiting; where it says no, the call returns without effect.
  using Patience = std::function<bool()>;

  static std::size_t bytes(std::size_t capacity);

  // Empty, on memory of bytes(capacity), aligned to 128, which must outlive it. `as_device`: the
  // address by which producers know it that push by themselves; nullptr: the same. Throws
  // BadArgument for a capacity that is no power of two.
  Fifo(std::byte* memory, std::size_t capacity, std::byte* as_device = nullptr);

  // By any thread: waits for room. Returns the command's ticket, from 1 on; 0: patience ended.
  std::uint64_t push(const ProxyCommand& command, const Patience& wait);
  // By any thread: returns when all commands up to the ticket are done; false: patience ended.
  bool quiet(std::uint64_t ticket, const Patience& wait) const;

  // By the consumer alone. False: there is nothing.
  bool pop(ProxyCommand& command);
  // All of the first `count` commands are done.
  void complete(std::uint64_t count);

  // For producers that push by themselves.
  FifoCounters* device_counters() const { return counters_at(as_device_); }
  FifoSlot* device_slots() const { return slots_at(as_device_); }
  std::uint64_t capacity() const { return capacity_; }

 private:
  static FifoCounters* counters_at(std::byte* memory) {
    return reinterpret_cast<FifoCounters*>(memory);
  }
  static FifoSlot* slots_at(std::byte* memory) {
    return reinterpret_cast<FifoSlot*>(memory + sizeof(FifoCounters));
  }
  void tell(std::uint64_t& word, std::uint64_t value);
  FifoSlot& slot(std::uint64_t number) const { return slots_[number & (capacity_ - 1)]; }

  FifoCounters* counters_;
  FifoSlot* slots_;
  std::uint64_t capacity_;
  std::byte* as_device_;
  std::uint64_t popped_ = 0;
};

}  // namespace duet
