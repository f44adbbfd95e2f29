// Why the halves run one after the other: both at once are slower, since they want the same links.
// Bus bandwidth in GB/s on 4 x H200:
//
//                                                       64 MiB  256 MiB  1 GiB  4 GiB
//   reduced by a kernel or through slots, then pushed      295      340    364    372
//   in two pieces, one pushed while the next is pulled     280      324    342    351
//   all of it by one kernel                                303      316    319    323
#include "collectives/peer/all_reduce_plans.h"

#include <fmt/format.h>

#include <utility>

#include "collectives/peer/partition.h"
#include "collectives/peer/scheduled_plans.h"

namespace duet {
namespace {

// nullptr where some rank cannot map them; the same on all ranks.
std::unique_ptr<PeerMemory> mapped(Rank& rank, const Span& recv) try {
  return std::make_unique<PeerMemory>(rank, recv, "the other ranks' receive buffers");
} catch (const Unreachable&) {
  return nullptr;
}

}  // namespace

PullPlan::PullPlan(Rank& rank, const Collective& c, const CollectiveBuffers& buffers,
                   Watchdog& watchdog)
    : send_(rank, buffers.send, "the other ranks' send buffers"),
      words_(rank, rank.size * kReducingBlocks),
      watched_(watchdog, words_) {
  PeerKernel kernel;
  kernel.dtype = c.dtype;
  kernel.op = c.op;
  kernel.blocks = kReducingBlocks;
  set_peers(kernel, words_, 0, rank.index, rank.size);
  const ByteRange own = reduced_part(c, rank.index, rank.size);
  KernelItem item;
  item.destinations = {buffers.recv.slice(own.begin, own.bytes)};
  for (int step = 0; step < rank.size; ++step) {
    const int from = (rank.index + step) % rank.size;
    item.sources.push_back(send_.at(from).slice(own.begin, own.bytes));
    if (step == 0) continue;
    add_wire_bytes(reduced_part(c, from, rank.size).bytes);  // pulled by others
  }
  if (own.bytes > 0) kernel.items = {std::move(item)};
  reduction_ = rank.device.prepare(kernel);
}

std::string PullPlan::algorithm() const {
  return fmt::format("pulled and reduced by {} blocks", kReducingBlocks);
}

SpreadPlan::SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                       SideStreams& lanes, Watchdog& watchdog,
                       std::unique_ptr<CollectivePlan> first, bool out_of_step)
    : lanes_(lanes),
      first_(std::move(first)),
      out_of_step_(out_of_step && lanes.copying().in_order),
      recv_(mapped(rank, buffers.recv)),
      copies_(rank.device, lanes.copying().count, lanes.copying().in_order) {
  add_wire_bytes(static_cast<std::uint64_t>(first_->wire_bytes()));
  if (recv_) {
    words_ = std::make_unique<SpacedPeerSemaphores>(rank, 2 * rank.size);
    push(rank, collective);
    watched_.emplace(watchdog, *words_);
    return;
  }
  const CollectiveBuffers results{buffers.recv, buffers.recv};
  staged_ = plan_staged_moves(rank, part_to_all(collective, rank.size), results, lanes_, watchdog);
  add_wire_bytes(static_cast<std::uint64_t>(staged_->wire_bytes()));
}

void SpreadPlan::push(const Rank& rank, const Collective& collective) {
  const ByteRange own = reduced_part(collective, rank.index, rank.size);
  const Span result = recv_->at(rank.index).slice(own.begin, own.bytes);
  for (int step = 1; step < rank.size; ++step) {
    const int to = (rank.index + step) % rank.size;
    // A rank without a part signals no `done`: it might run a call ahead of those that wait for it.
    const bool theirs = reduced_part(collective, to, rank.size).bytes > 0;
    if (theirs) {
      end_.waits.push_back(words_->at(rank.index, to));
    }
    // Two ranks without parts push nothing to each other, and nothing else keeps one of them from
    // signalling its next call before the other has set back the semaphore of this one.
    if (out_of_step_ && (theirs || own.bytes > 0)) {
      middle_.signals.push_back(words_->at(to, rank.size + rank.index));
      middle_.waits.push_back(words_->at(rank.index, rank.size + to));
    }
    if (own.bytes == 0) continue;
    const Copy copy{
        recv_->at(to).slice(own.begin, own.bytes), result, lanes_.copying().executor, {}};
    copies_.add({copies_.lane_for(step), {}, {copy}, {words_->at(to, rank.index)}});
    add_wire_bytes(own.bytes);
  }
}

void SpreadPlan::enqueue(Stream& stream) {
  first_->enqueue(stream);
  if (staged_) return staged_->enqueue(stream);
  if (!middle_.waits.empty()) stream.handshake(middle_);
  lanes_.fork(stream, copies_.lanes() - 1);
  copies_.enqueue(stream, lanes_);
  lanes_.join(stream, copies_.lanes() - 1);
  stream.handshake(end_);
}

void SpreadPlan::poison_staging() {
  first_->poison_staging();
  if (staged_) staged_->poison_staging();
}

std::string SpreadPlan::algorithm() const {
  return first_->algorithm() + ", spread by " + (staged_ ? staged_->algorithm() : "pushes");
}

}  // namespace duet
