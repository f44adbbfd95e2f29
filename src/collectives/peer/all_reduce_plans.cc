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

#include "collectives/partition.h"
#include "collectives/peer/scheduled_plans.h"

namespace duet {
namespace {

// By pushes, or through slots where some rank cannot map receive buffers; the same on all ranks.
std::unique_ptr<CollectivePlan> second_half(Rank& rank, const Collective& collective,
                                            const Span& recv, const ScheduleSession& session,
                                            bool out_of_step) try {
  return plan_spread(rank, collective, recv, session, out_of_step);
} catch (const Unreachable&) {
  return plan_staged_moves(rank, part_to_all(collective, rank.size), {recv, recv}, session);
}

}  // namespace

SpreadPlan::SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                       const ScheduleSession& session, std::unique_ptr<CollectivePlan> first,
                       bool out_of_step)
    : first_(std::move(first)),
      second_(second_half(rank, collective, buffers.recv, session, out_of_step)) {
  add_wire_bytes(static_cast<std::uint64_t>(first_->wire_bytes() + second_->wire_bytes()));
  const RankSchedule *const one = first_->schedule(), *const other = second_->schedule();
  if (one != nullptr && other != nullptr) kept_ = in_a_row(*one, *other);
}

void SpreadPlan::enqueue(Stream& stream) {
  first_->enqueue(stream);
  second_->enqueue(stream);
}

void SpreadPlan::poison_staging() {
  first_->poison_staging();
  second_->poison_staging();
}

std::string SpreadPlan::algorithm() const {
  return first_->algorithm() + ", spread by " + second_->algorithm();
}

}  // namespace duet
