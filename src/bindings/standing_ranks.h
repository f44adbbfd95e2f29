#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "communicator/communicator.h"

namespace duet::bindings {

// The ranks of this process in one Communicator::each() after another, so that any thread can give
// them work:
//
//   thread of each()            for each rank: wait for work, do it, answer      } until a rank or
//   caller's thread   run(r) -> work of rank r ... answer ->                     } process fails
//
// After a failure each() ends in all processes, with all work that was given, and the next begins.
// Every rank hears of it once: by work that it had given, or else by the next, which is refused. So
// no rank waits in the next each() for one that is still in a call of the last.
//
// On real devices only: on a simulated machine a rank that waits for work would hold up the others.
class StandingRanks {
 public:
  // Not before close() has the communicator another user.
  explicit StandingRanks(Communicator& communicator);
  ~StandingRanks();  // as close(), but does not wait for other processes
  StandingRanks(const StandingRanks&) = delete;
  StandingRanks& operator=(const StandingRanks&) = delete;

  // Runs `work` on the thread of a local rank, and returns or throws as it does; Interrupted where
  // interrupt() has cut it short; PeerFailed, without running it, where the rank has not heard of a
  // failure yet. One thread at a time for each rank.
  void run(int local, const std::function<void(LocalRank&)>& work);

  // Why calls that are under way may have no result: also of a failure behind which the next each()
  // has begun, until all local ranks have heard of it. From any thread, as the next two.
  std::string failure();
  // Fails the work of all ranks, here and in other processes, as if this rank had thrown; where no
  // each() runs, that of the next.
  void fail(int rank, const std::string& why);
  // fail(), after which work that is under way here throws Interrupted.
  void interrupt();

  // Of how many failures a local rank has heard, the one of the each() that ends included.
  std::uint64_t heard(int local);
  // The local ranks have heard by other means: of all failures so far; of the one behind so many
  // others, by rank.
  void have_heard();
  void have_heard(const std::vector<std::uint64_t>& before);

  // Collective over processes: returns when all of them have closed, or one has failed.
  void close();

 private:
  struct Order {
    const std::function<void(LocalRank&)>* work = nullptr;
    bool done = false, interrupted = false;
    std::exception_ptr error;
  };
  struct Place {  // of a local rank
    std::deque<Order*> orders;
    Order* running = nullptr;
    bool told = false;           // of the failure of this each()
    std::uint64_t failures = 0;  // of which the rank has heard
  };
  struct Failing {
    int rank = 0;
    std::string why;
  };

  void stand();  // each() after each()
  void begin_each();
  void serve(LocalRank& rank);
  Order* next_order(Place& place);                             // null: there is to be none
  bool refuse(Place& place, const std::exception_ptr& error);  // whether it had orders
  void end_each(const std::exception_ptr& error);

  Communicator& communicator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Place> places_;
  bool closing_ = false, failed_ = false;
  bool serving_ = false;            // an each() has begun, and has not ended
  std::optional<Failing> failing_;  // for the next
  std::uint64_t failures_ = 0;      // each() calls that have ended by one
  std::string failure_;             // the last
  std::exception_ptr dead_;         // no further each() is possible
  int watch_ = 0;                   // of the communicator's failures
  std::thread thread_;
};

}  // namespace duet::bindings
