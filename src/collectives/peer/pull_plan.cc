#include "collectives/peer/pull_plan.h"

#include <fmt/format.h>

#include "collectives/peer/parts.h"

namespace duet {

PullPlan::PullPlan(Rank& rank, const Collective& c, const CollectiveBuffers& buffers,
                   Watchdog& watchdog)
    : watchdog_(watchdog),
      send_(rank, buffers.send, "the other ranks' send buffers"),
      words_(rank, rank.size * kReducingBlocks) {
  PeerKernel kernel;
  kernel.dtype = c.dtype;
  kernel.op = c.op;
  kernel.blocks = kReducingBlocks;
  set_peers(kernel, words_, 0, rank.index, rank.size);
  const PartBytes own = part_bytes(c, rank.index, rank.size);
  KernelItem item;
  item.destinations = {buffers.recv.slice(own.begin, own.bytes)};
  for (int step = 0; step < rank.size; ++step) {
    const int from = (rank.index + step) % rank.size;
    item.sources.push_back(send_.at(from).slice(own.begin, own.bytes));
    if (step == 0) continue;
    wire_bytes_ += static_cast<double>(part_bytes(c, from, rank.size).bytes);  // pulled by others
  }
  if (own.bytes > 0) kernel.items = {std::move(item)};
  reduction_ = rank.device.prepare(kernel);
  watchdog_.add(&words_);
}

PullPlan::~PullPlan() { watchdog_.remove(&words_); }

std::string PullPlan::algorithm() const {
  return fmt::format("pulled and reduced by {} blocks", kReducingBlocks);
}

}  // namespace duet
