#include "nccl_shim/protocol/pair_state.h"

#include <thread>

#include "core/clock.h"
#include "nccl_shim/protocol/failure.h"

namespace duet::nccl_shim {
namespace {

// Beside a number; none of them while the first waits for the other.
constexpr std::uint64_t kTaken = 1ull << 63;    // the other has come: it makes all copies
constexpr std::uint64_t kRevoked = 1ull << 62;  // the first has aborted before the other came
constexpr std::uint64_t kShared = 1ull << 61;   // the other has come in time: each makes its own
constexpr std::uint64_t kLeft = 1ull << 60;     // the first waits no longer

}  // namespace

Role PairState::come(std::uint64_t number, bool waits) {
  std::uint64_t seen = word_.load(std::memory_order_acquire);
  for (;;) {
    if (seen == (number | kRevoked)) return Role::none;
    Role role = Role::first;
    std::uint64_t next = waits ? number : number | kLeft;
    if (seen == number) {
      role = Role::sharing;
      next = number | kShared;
    } else if (seen == (number | kLeft)) {
      role = Role::second;
      next = number | kTaken;
    }
    if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return role;
    }
  }
}

bool PairState::wait_for_other(std::uint64_t number, double end, const Failure& failure) {
  while (word_.load(std::memory_order_acquire) == number && !failure.is_ending() &&
         steady_now() < end) {
    std::this_thread::yield();
  }
  std::uint64_t seen = number;
  word_.compare_exchange_strong(seen, number | kLeft, std::memory_order_acq_rel,
                                std::memory_order_acquire);
  return seen == (number | kShared);
}

bool PairState::revoke(std::uint64_t number) {
  std::uint64_t untaken = number | kLeft;
  return word_.compare_exchange_strong(untaken, number | kRevoked);
}

}  // namespace duet::nccl_shim
