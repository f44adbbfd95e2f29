// The words of a command fifo between threads of a device, which push, and a thread of the CPU,
// which pops. They are in memory that both can access. Each word's comment states how it is
// accessed: atomic addition, store with release order, or load with acquire order, all system-wide.
#pragma once

#include <cstdint>

namespace duet {

struct ProxyCommand {
  std::uint64_t message = 0;
  double pushed = 0;  // when the producer began to push, in seconds of its own clock
};

struct FifoSlot {
  std::uint64_t sequence;  // the command's ticket, from 1; stored (release) after `command`
  ProxyCommand command;
  std::uint64_t padding;
};

struct FifoCounters {               // each counter is on separate cache lines
  alignas(128) std::uint64_t head;  // commands that have a slot; producers add to it
  alignas(128) std::uint64_t tail;  // popped commands; stored (release) by the consumer
  alignas(128) std::uint64_t done;  // leading commands that are all done; stored like `tail`
};

// Words between the CPU and the threads that push, in memory that both can access; initially all 0.
struct PushControl {
  alignas(128) std::uint64_t ping;   // set by the CPU; the device answers in `pong` with its time
  alignas(128) std::uint64_t begin;  // not 0: the threads may push
  alignas(128) std::uint64_t stop;   // not 0: the threads must end, whatever they wait for
  alignas(128) std::uint64_t pong;
  std::uint64_t pong_nanoseconds;    // the device's clock at `pong`
  alignas(128) std::uint64_t ended;  // not 0: all blocks have ended (last command done, or stopped)
};

// Words in the device's own memory; initially all 0. Few machines allow a device's atomic additions
// to the CPU's memory, so `head` is here. One block polls the CPU's words over the bus and copies
// them to the members `seen_...` for all other blocks.
struct PushCounts {
  alignas(
      128) std::uint64_t head;  // added to: commands that have a slot, instead of the fifo's own
  alignas(128) std::uint64_t left;        // added to: blocks that have ended
  alignas(128) std::uint64_t seen_begin;  // what was seen of the CPU's words
  std::uint64_t seen_stop;
  alignas(128) std::uint64_t seen_tail;
  alignas(128) std::uint64_t seen_done;
};

// The commands that a device's blocks push, one thread per block. Command i is pushed by block
// i % blocks. Times are in nanoseconds of the device's clock.
struct CommandPushes {
  FifoCounters* counters = nullptr;
  FifoSlot* slots = nullptr;
  PushCounts* counts = nullptr;
  std::uint64_t capacity = 0;  // a power of two
  std::uint64_t commands = 0;
  int blocks = 1;
  bool blocking = false;  // waits until each command is done; otherwise only for the last one
  PushControl* control = nullptr;
  std::uint64_t* push_nanoseconds = nullptr;  // per command: time to get a slot and fill it
};

// A stream is also one of these where its device's threads can push commands (cuda, hip).
class CommandPusher {
 public:
  virtual ~CommandPusher() = default;
  // Enqueues the pushes on the stream. The memory must live until the threads have ended.
  virtual void push_commands(const CommandPushes& pushes) = 0;
};

}  // namespace duet
