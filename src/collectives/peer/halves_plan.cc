// Why the halves run one after the other: both at once are slower, since they want the same links.
// Bus bandwidth in GB/s on 4 x H200:
//
//                                                       64 MiB  256 MiB  1 GiB  4 GiB
//   reduced by a kernel or through slots, then pushed      295      340    364    372
//   in two pieces, one pushed while the next is pulled     280      324    342    351
//   all of it by one kernel                                303      316    319    323
#include "collectives/peer/halves_plan.h"

#include <utility>

namespace duet {

HalvesPlan::HalvesPlan(std::unique_ptr<CollectivePlan> first,
                       std::unique_ptr<CollectivePlan> second)
    : first_(std::move(first)), second_(std::move(second)) {
  add_wire_bytes(static_cast<std::uint64_t>(first_->wire_bytes() + second_->wire_bytes()));
  const RankSchedule *const one = first_->schedule(), *const other = second_->schedule();
  if (one != nullptr && other != nullptr) kept_ = in_a_row(*one, *other);
}

void HalvesPlan::enqueue(Stream& stream) {
  first_->enqueue(stream);
  second_->enqueue(stream);
}

void HalvesPlan::enqueue_observed(Stream& stream, StepObserver& observer) {
  first_->enqueue_observed(stream, observer);
  second_->enqueue_observed(stream, observer);
}

void HalvesPlan::poison_staging() {
  first_->poison_staging();
  second_->poison_staging();
}

std::string HalvesPlan::algorithm() const {
  return first_->algorithm() + ", spread by " + second_->algorithm();
}

}  // namespace duet
