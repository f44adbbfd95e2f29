// The words of a fifo of commands, between a device's threads that push and a thread of the CPU
// that pops, in memory that both reach. Plain words: what is added to, stored with release order
// and read with acquire order, system-wide, is said at each.
#pragma once

#include <cstdint>

namespace duet {

struct ProxyCommand {
  std::uint64_t message = 0;
  double pushed = 0;  // seconds of the producer's clock, when it began to push
};

struct FifoSlot {
  std::uint64_t sequence;  // stored (release) when the rest is there: its command's ticket, from 1
  ProxyCommand command;
  std::uint64_t padding;
};

struct FifoCounters {               // each on cache lines of its own
  alignas(128) std::uint64_t head;  // added to by producers: commands that have a slot
  alignas(128) std::uint64_t tail;  // stored (release) by the consumer: commands that were popped
  alignas(128) std::uint64_t done;  // likewise: all of the first so many are done
};

// Between the CPU and the threads that push, in memory that both reach; all 0 at first.
struct PushControl {
  alignas(128) std::uint64_t ping;   // the CPU's: to be answered in `pong`, with the time
  alignas(128) std::uint64_t begin;  // not 0: push
  alignas(128) std::uint64_t stop;   // not 0: leave, whatever is waited for
  alignas(128) std::uint64_t pong;
  std::uint64_t pong_nanoseconds;    // of the device's clock
  alignas(128) std::uint64_t ended;  // not 0: all blocks have seen their last command done, or left
};

// In the device's own memory, all 0 at first: few machines let its threads add to the CPU's, and
// one of them looks over the bus for all.
struct PushCounts {
  alignas(
      128) std::uint64_t head;  // added to: commands that have a slot, instead of the fifo's own
  alignas(128) std::uint64_t left;        // added to: blocks that have ended
  alignas(128) std::uint64_t seen_begin;  // what was seen of the CPU's words
  std::uint64_t seen_stop;
  alignas(128) std::uint64_t seen_tail;
  alignas(128) std::uint64_t seen_done;
};

// What a device's blocks push, a thread each: command i is block i modulo their number's. Times are
// nanoseconds of the device's clock.
struct CommandPushes {
  FifoCounters* counters = nullptr;
  FifoSlot* slots = nullptr;
  PushCounts* counts = nullptr;
  std::uint64_t capacity = 0;  // a power of two
  std::uint64_t commands = 0;
  int blocks = 1;
  bool blocking = false;  // wait after each command for it to be done, else after the last one
  PushControl* control = nullptr;
  std::uint64_t* push_nanoseconds = nullptr;  // by command: to have a slot and fill it
};

}  // namespace duet
