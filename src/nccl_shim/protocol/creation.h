// How the ranks of a communicator find out whether its calls can be made by PairCopies.
//
//   before the real NCCL's creation:  announce: an entry in shared memory that all ranks name alike
//   after it, all ranks have called:  N entries: all are here, and have the drop-in
//                                     each lends a piece of memory, and maps and reads the others'
//                                     each lends its slots, and maps the others'
//                                     if that goes well on all: PairCopies
//
// Every step is made for all ranks of a thread before the next, because steps wait for other ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim {

class Creation {
 public:
  // Announces this rank. `name` is one for all ranks of this creation and for no other; `settings`
  // a hash of what all ranks must have alike, which tells how `wanted` is staged too. Reductions
  // that are wanted are made if the devices of all ranks can. Throws Unavailable, without an entry.
  Creation(ShimDevice& device, const std::string& name, int rank, int ranks, std::uint64_t settings,
           const Method& wanted = {});
  ~Creation();
  Creation(const Creation&) = delete;
  Creation& operator=(const Creation&) = delete;

  int announced() const;  // ranks, so far
  // For ranks that are known to do so, or to make `refused` true: false then. Throws Timeout.
  bool wait_announced(
      double seconds, const std::function<bool()>& refused = [] { return false; }) const;

  // Before the real creation: names all that this thread creates at once, if that is more than this
  // communicator. Ranks of which only one does so would wait for each other for ever.
  void set_together(std::uint64_t name) { (*shared_)->ranks[rank_].together = name; }

  // After the real creation. Whether all ranks have announced themselves, and alike; if not, none
  // finds that they have.
  bool all_announced();
  // If so: four steps. All but the first wait for all ranks, `seconds` each; throw PeerFailed if
  // one has ended, as they do on all ranks then, Timeout after that time.
  void offer();
  void try_peers(double seconds);
  void map_slots(double seconds);
  // Null if not all ranks can; then reason() says why, as far as this rank knows.
  std::unique_ptr<PairCopies> finish(double seconds);

  // Ends a wait for other ranks, which then forward, or have a communicator that is broken. May be
  // called from any thread. Its step throws PeerFailed.
  void give_up() { given_up_ = true; }

  // Frees the memory that was lent as a test, before the device is given away.
  void release_test_memory();

  const std::string& reason() const { return reason_; }
  int ranks() const { return ranks_; }

 private:
  void set_stage(Stage stage);
  void wait_for_all(Stage stage, double seconds, const char* step);
  std::string difference() const;
  Method agreed_method() const;
  void try_peer(int peer);
  void refuse_with_peers();

  ShimDevice& device_;
  std::shared_ptr<SharedMemory> shared_;
  int rank_, ranks_;
  Method wanted_;
  std::string reason_;
  std::unique_ptr<PairCopies> copies_;
  std::uint64_t* test_memory_ = nullptr;  // the memory that is lent as a test
  std::atomic<bool> given_up_{false};
};

// A name in /dev/shm, from any bytes and what tells creations from the same bytes apart.
std::string shared_memory_name(const void* bytes, std::size_t count, const std::string& part);

// FNV-1a.
std::uint64_t hash_bytes(const void* bytes, std::size_t count, std::uint64_t start);

}  // namespace duet::nccl_shim
