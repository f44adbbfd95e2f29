#include "fabric/proxy/proxy.h"

#include "core/clock.h"

namespace duet {

Proxy::Proxy(Fifo& fifo, Traffic& traffic, OneSided& writes, int depth)
    : fifo_(fifo),
      traffic_(traffic),
      writes_(writes),
      depth_(static_cast<std::uint64_t>(depth)),
      done_(writes.size() + 1),
      tickets_(writes.size()) {
  times_.poll.reserve(writes.size());
  times_.post.reserve(writes.size());
}

void Proxy::progress() {
  const std::vector<std::size_t>& ends = writes_.ends();
  while (ends_seen_ < ends.size()) done_[tickets_[ends[ends_seen_++]]] = true;
  const std::uint64_t before = done_in_order_;
  while (done_in_order_ + 1 < done_.size() && done_[done_in_order_ + 1]) ++done_in_order_;
  if (done_in_order_ != before) fifo_.complete(done_in_order_);
  ProxyCommand command;
  while (popped_ - ends_seen_ < depth_ && fifo_.pop(command))
    take(command, ++popped_, steady_now());
}

void Proxy::take(const ProxyCommand& command, std::uint64_t ticket, double now) {
  tickets_[command.message] = ticket;
  times_.poll.push_back(now - command.pushed);
  writes_.open(command.message);
  traffic_.post();
  times_.post.push_back(steady_now() - now);
}

}  // namespace duet
