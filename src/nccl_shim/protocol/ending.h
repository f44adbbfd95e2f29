#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "nccl_shim/protocol/failure.h"
#include "nccl_shim/protocol/own_rank.h"
#include "nccl_shim/protocol/stream_order.h"
#include "nccl_shim/protocol/transfers.h"

namespace duet::nccl_shim {

// How one rank's calls and messages end where their streams do not simply run on: drained, noticed
// as lost, or aborted. Functions are PairCopies' and thread-safe, but the last two.
class Ending : OwnRank {
 public:
  // `enqueuing` is held over all that uses `order`, or the `transfers` but as these say.
  Ending(const OwnRank& rank, Failure& failure, const StreamOrder& order,
         std::vector<Transfers*> transfers, std::mutex& enqueuing)
      : OwnRank(rank),
        failure_(failure),
        order_(order),
        transfers_(std::move(transfers)),
        enqueuing_(enqueuing) {}

  bool drain();
  bool is_done();
  void watch();
  void begin_abort();
  void abort(double seconds);
  // `peers_write`: whether this rank has memory that peers write by themselves.
  bool end(bool peers_write);

  // Under `enqueuing`.
  void give_up();
  void record_ends() noexcept;  // of what is on this rank's own streams

 private:
  bool waits_for(int peer) const;
  void end_own_waits();
  bool wait_while(const std::function<bool()>& holds, double limit);
  // Locks enqueuing_. Empty, or what is not at its end.
  std::string end_work(std::unique_lock<std::mutex>& lock, double limit);
  bool own_work_runs() const;  // behind an error: with all that was enqueued before it
  bool leave();
  bool runs(int peer) const;  // whether work of a peer may still run
  bool peers_run() const;
  bool may_touch(int peer) const;

  Failure& failure_;
  const StreamOrder& order_;
  const std::vector<Transfers*> transfers_;
  std::mutex& enqueuing_;
  std::mutex abort_mutex_;          // held over end_own_waits(); locked before enqueuing_
  bool is_revoked_ = false;         // by the first abort(), under abort_mutex_
  std::atomic<bool> left_{false};   // aborted with all calls done
  std::atomic<bool> stuck_{false};  // an abort gave up waiting
};

}  // namespace duet::nccl_shim
