#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/command_fifo.h"
#include "device/device.h"

namespace duet {

// A bounded queue of commands with any number of producers and one consumer, the proxy, in memory
// that both reach. Its layout is that of device/command_fifo.h, so that a GPU's threads can
// produce.
class Fifo {
 public:
  // A call that waits asks this now and then; where it returns false, the call gives up.
  using KeepWaiting = std::function<bool()>;

  static std::size_t bytes(std::size_t capacity);

  // Empty, on memory of bytes(capacity), aligned to 128, which must outlive it. `as_device`: the
  // address by which producers know it that push by themselves; nullptr: the same. Throws
  // BadArgument for a capacity that is no power of two.
  Fifo(std::byte* memory, std::size_t capacity, std::byte* as_device = nullptr);

  // Any thread: waits for room. Returns the command's ticket, from 1 on; 0: gave up.
  std::uint64_t push(const ProxyCommand& command, const KeepWaiting& wait);
  // Any thread: waits until all commands up to the ticket are done; false: gave up.
  bool quiet(std::uint64_t ticket, const KeepWaiting& wait) const;

  // Consumer only. False: the queue is empty.
  bool pop(ProxyCommand& command);
  // Consumer only: the first `count` commands are all done.
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
  void publish(std::uint64_t& word, std::uint64_t value);
  FifoSlot& slot(std::uint64_t number) const { return slots_[number & (capacity_ - 1)]; }

  FifoCounters* counters_;
  FifoSlot* slots_;
  std::uint64_t capacity_;
  std::byte* as_device_;
  std::uint64_t popped_ = 0;
};

// The memory of FifoMemory::fifo(), which must not outlive it.
class FifoMemory {
 public:
  // Throws Unavailable where the CPU cannot follow such memory of the device, OutOfMemory.
  FifoMemory(Device& device, MemoryKind kind, std::size_t capacity);

  // An empty fifo in this memory.
  Fifo fifo() const;

 private:
  std::size_t capacity_;
  Buffer buffer_;
  std::unique_ptr<CpuView> view_;
};

}  // namespace duet
