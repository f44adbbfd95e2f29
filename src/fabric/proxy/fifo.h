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

  // On memory of bytes(capacity), aligned to 128, which must outlive it. Throws BadArgument for a
  // capacity that is no power of two.
  Fifo(std::byte* memory, std::size_t capacity);

  // By any thread: waits for room. Returns the command's ticket, from 1 on; 0: patience ended.
  std::uint64_t push(const ProxyCommand& command, const Patience& wait);
  // By any thread: returns when all commands up to the ticket are done; false: patience ended.
  bool quiet(std::uint64_t ticket, const Patience& wait) const;

  // By the consumer alone. False: there is nothing.
  bool pop(ProxyCommand& command);
  // All of the first `count` commands are done.
  void complete(std::uint64_t count);

  // For producers that push by themselves.
  FifoCounters* counters() const { return counters_; }
  FifoSlot* slots() const { return slots_; }
  std::uint64_t capacity() const { return capacity_; }

 private:
  FifoSlot& slot(std::uint64_t number) const { return slots_[number & (capacity_ - 1)]; }

  FifoCounters* counters_;
  FifoSlot* slots_;
  std::uint64_t capacity_;
};

}  // namespace duet
