#pragma once

namespace duet::nccl_shim {

// What a rank and its peers send each other, and how that ends where the communicator does
// (Ending). Functions are called under PairCopies::mutex_, but those of which it is said otherwise.
class Transfers {
 public:
  virtual ~Transfers() = default;

  // Whether a group's have begun and are not all enqueued.
  virtual bool is_begun() const = 0;
  // Ends those that have begun, if any have: what peers have found is settled, since they count on
  // it. After an error, and in every abort.
  virtual void give_up() = 0;

  // Whether streams of this rank wait for the peer. At any time, from any thread; no call to the
  // device.
  virtual bool waits_for(int peer) const = 0;
  // Takes back what peers have not come to: their share of it is not to be expected. Once.
  virtual void revoke_untaken() = 0;
  // One look at all words that this rank's streams may wait for: those that have not come are set
  // in the peers' place. At any time, by one thread at a time.
  virtual void end_own_waits() = 0;
  virtual void record_ends() noexcept = 0;  // of what is on this rank's own streams
  virtual bool runs() const = 0;            // whether that does
  // Behind these: whether the peer may still copy from or to this rank's buffers, if it runs.
  virtual bool may_touch(int peer) const = 0;
};

}  // namespace duet::nccl_shim
