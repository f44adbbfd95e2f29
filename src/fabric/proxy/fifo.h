// The queue between those who want data moved and the thread that moves them: bounded, of any
// number of producers and one consumer, in memory that both reach. Its layout is plain words, so
// that producers may be a GPU's threads: `head` is added to, `sequence` is stored with release
// order after the rest of a slot, `tail` and `done` are read with acquire order, all of them
// system-wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace duet {

struct ProxyCommand {
  std::uint64_t message = 0;
  double pushed = 0;  // seconds, when the producer began to push
};

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

 private:
  struct Slot {
    std::uint64_t sequence;  // its command's ticket; less: it holds an older one
    ProxyCommand command;
    std::uint64_t padding;
  };
  struct Counters {  // each on cache lines of its own
    alignas(128) std::uint64_t head;
    alignas(128) std::uint64_t tail;
    alignas(128) std::uint64_t done;
  };

  Slot& slot(std::uint64_t number) const { return slots_[number & (capacity_ - 1)]; }

  Counters* counters_;
  Slot* slots_;
  std::uint64_t capacity_;
};

}  // namespace duet
