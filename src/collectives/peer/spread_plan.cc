// Pushing after reducing. Both at once are slower, since they want the same links: bus bandwidth on
// 4 x H200 at 64 MiB, 256 MiB, 1 GiB and 4 GiB, reduced (by a kernel that pulls, the last two
// through slots) and then pushed: 295, 340, 364, 372 GB/s; in two pieces, of which one is pushed
// while the next is pulled: 280, 324, 342, 351; all of it by one kernel: 303, 316, 319, 323.
#include "collectives/peer/spread_plan.h"

#include <utility>

#include "collectives/peer/parts.h"

namespace duet {
namespace {

// nullptr where some rank cannot; the same on all ranks.
std::unique_ptr<PeerMemory> mapped(Rank& rank, const Span& recv) try {
  return std::make_unique<PeerMemory>(rank, recv, "the other ranks' receive buffers");
} catch (const Unreachable&) {
  return nullptr;
}

}  // namespace

SpreadPlan::SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                       Lanes& lanes, Watchdog& watchdog, std::unique_ptr<CollectivePlan> first,
                       bool out_of_step)
    : lanes_(lanes),
      watchdog_(watchdog),
      first_(std::move(first)),
      out_of_step_(out_of_step && lanes.copying().in_order),
      recv_(mapped(rank, buffers.recv)),
      copies_(rank.device, lanes.copying().count, lanes.copying().in_order),
      wire_bytes_(first_->wire_bytes()) {
  if (recv_) {
    words_ = std::make_unique<Semaphores>(rank, 2 * rank.size);
    push(rank, collective);
    watchdog_.add(words_.get());
    return;
  }
  const CollectiveBuffers results{buffers.recv, buffers.recv};
  staged_ = std::make_unique<StagedMovePlan>(
      rank, name(collective.kind), spreading(collective, rank.size), results, lanes_, watchdog_);
  wire_bytes_ += staged_->wire_bytes();
}

SpreadPlan::~SpreadPlan() {
  if (words_) watchdog_.remove(words_.get());
}

void SpreadPlan::push(const Rank& rank, const Collective& collective) {
  const PartBytes own = part_bytes(collective, rank.index, rank.size);
  const Span result = recv_->at(rank.index).slice(own.begin, own.bytes);
  for (int step = 1; step < rank.size; ++step) {
    const int to = (rank.index + step) % rank.size;
    // A rank without a part has nothing to tell, and would run ahead of those that wait for it.
    if (part_bytes(collective, to, rank.size).bytes > 0) {
      end_.waits.push_back({words_->at(rank.index, to)});
    }
    if (out_of_step_) {
      middle_.signals.push_back({words_->at(to, rank.size + rank.index)});
      middle_.waits.push_back({words_->at(rank.index, rank.size + to)});
    }
    if (own.bytes == 0) continue;
    const Copy copy{recv_->at(to).slice(own.begin, own.bytes), result, Executor::dma, {}};
    copies_.add({copies_.lane_for(step), {}, {copy}, {{words_->at(to, rank.index)}}});
    wire_bytes_ += static_cast<double>(own.bytes);
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
