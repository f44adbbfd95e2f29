#pragma once

#include <atomic>
#include <cstdint>

namespace duet::nccl_shim {

class Failure;

// What a rank is for a peer, in a call or for a message: nothing where there is nothing to copy, or
// the peer has aborted; `sharing` where each pushes what it sends.
enum class Role { none, first, second, sharing };

// Who of two ranks has come to a call, or to a message: in shared memory, by both. Numbers come
// one after the other; one that was taken back stays.
class PairState {
 public:
  // Comes to a call. `waits`: as a first, stays in the place of one that waits. Role::none: the
  // other has aborted.
  Role come(std::uint64_t number, bool waits);
  // Of a first: waits for the other as long as that may come to share the call, until `end`, of
  // steady_now(), or the end of the communicator. True if it has come; if not, and it
  // comes later, it makes all copies.
  bool wait_for_other(std::uint64_t number, double end, const Failure& failure);
  // Of a first that waits no longer: takes the call back, if the other has not come.
  bool revoke(std::uint64_t number);

 private:
  // The number of the call that one of both has come to, and one of pair_state.cc's flags.
  std::atomic<std::uint64_t> word_;
};

}  // namespace duet::nccl_shim
