#pragma once

#include <cstdint>
#include <vector>

#include "fabric/one_sided.h"
#include "fabric/proxy/fifo.h"

namespace duet {

// Where the time of each message goes, in seconds.
struct ProxyTimes {
  std::vector<double> push;        // the producer's: to have a slot and fill it
  std::vector<double> poll;        // from the push's begin to the pop
  std::vector<double> post;        // to hand the message to the rails' queues and post what fits
  std::vector<double> completion;  // from then to its proven end
};

// Takes commands from a fifo, posts their messages, and completes them in the fifo in order. Driven
// by the thread that drives the traffic.
class Proxy {
 public:
  // `writes` are those of the load, not started; at most `depth` of them are in flight. All must
  // outlive it.
  Proxy(Fifo& fifo, Traffic& traffic, OneSided& writes, int depth);

  // Completes the commands whose messages have ended and posts new ones; never blocks. To be called
  // between calls of Traffic::progress().
  void progress();
  const ProxyTimes& times() const { return times_; }

 private:
  void take(const ProxyCommand& command, std::uint64_t ticket, double now);

  Fifo& fifo_;
  Traffic& traffic_;
  OneSided& writes_;
  std::uint64_t depth_;
  std::uint64_t popped_ = 0;
  std::vector<bool> done_;              // by ticket
  std::uint64_t done_in_order_ = 0;     // all up to this one
  std::vector<std::uint64_t> tickets_;  // by message
  std::size_t ends_seen_ = 0;           // of writes_.ends()
  ProxyTimes times_;
};

}  // namespace duet
