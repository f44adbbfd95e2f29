// This process among those of a run: what they tell each other, and how they learn that one failed
// or is gone. All of it goes over one TCP connection to process 0; nothing is sent but what is
// asked for, and a call after ten seconds of waiting: next to nothing runs beside a measurement.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "team/failure_callbacks.h"
#include "team/launch.h"
#include "team/socket.h"

namespace duet {

class Hub;

// For waits that nothing ends but their end or the loss of a process.
inline constexpr double kNoDeadline = std::numeric_limits<double>::infinity();

class Processes {
 public:
  // By what launched this process: mpirun or srun, else MASTER_ADDR, MASTER_PORT (29500), RANK and
  // WORLD_SIZE (RANK counts processes), else this process alone. Returns when all have met. Throws
  // UsageError naming what was expected of the environment, and Timeout naming who never came.
  static std::unique_ptr<Processes> find(double deadline_seconds = 60);

  explicit Processes(Launch launch, double deadline_seconds = 60);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int index() const { return index_; }
  int size() const { return size_; }

  // This process among those of its node, where its launcher tells (LOCAL_RANK, MPI, Slurm). A
  // process that has one is meant to drive that one GPU of the node; one without, all it sees.
  std::optional<int> local_index() const { return local_index_; }

  // "rank 2 (pid 4711 on node1)".
  std::string name() const;
  // What messages call this process: "process 2" at first; "rank 2" or "ranks 4 to 7" by a team.
  void set_label(const std::string& label);

  // Everyone's bytes, by process. Every process calls it in the same order, from one thread at a
  // time. `what` ends the sentence "waiting for ..." and is equal in all processes: where they have
  // come to different calls, all throw BadArgument naming them, and may go on. Throws PeerFailed
  // naming the process that is gone or failed, Timeout naming those that did not come; a Timeout is
  // a failure for all. Who waits long, and who failed, has all others asked whether they are still
  // there: one that does not answer for Launch::patience_seconds is gone.
  std::vector<std::string> gather_all(const std::string& mine, const std::string& what,
                                      double deadline_seconds) {
    return gather_all(mine, what, what, deadline_seconds);
  }
  // The same where `call` is what is equal in all processes.
  std::vector<std::string> gather_all(const std::string& mine, const std::string& call,
                                      const std::string& what, double deadline_seconds);
  void barrier(const std::string& what, double deadline_seconds);

  // Ends everyone's waits, now and until the next epoch, with this process's name and the text.
  void fail(const std::string& text);

  // From now on waits throw Interrupted once `stop` has been true for a launch's patience: those
  // who are asked to stop as well have come by then. For one thread, while no other waits.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }

  // Waits of a failed epoch throw; those of the next one do not know of it. Every process begins
  // the same epochs; one that is gone has left all that follow.
  void begin_epoch();

  // Calls `tell` with the reason, on any thread and perhaps more than once, when a process (this
  // one as well) fails or is gone: for those who must release waits on devices. It must neither
  // wait for ranks nor call forget(). Called at once where it is so already.
  int on_failure(std::function<void(const std::string&)> tell);
  // Afterwards it is not called any more. The number is on_failure()'s.
  void forget(int number);

  // Why waits throw now; "" if they do not. Outside of an epoch's work: who is gone.
  std::string failure() const;

  // Has any process gone without saying that it would?
  bool lost_any() const;
  // Has process 0? Then nobody tells who else is gone.
  bool lost_process_0() const;

 private:
  using Round = std::pair<long, long>;  // epoch, sequence
  using Clock = std::chrono::steady_clock;

  void meet(const Launch& launch, double deadline_seconds);
  void listen();
  void died();
  void take(const Frame& frame);
  void send(const Frame& frame);
  void call(std::unique_lock<std::mutex>& lock);
  std::vector<std::string> gather_bytes(const std::string& mine, const std::string& what,
                                        double deadline_seconds);
  bool wait(std::unique_lock<std::mutex>& lock, double seconds, const std::function<bool()>& done);
  std::string failure_locked() const;
  void raise(const std::string& what) const;
  std::string missing(std::unique_lock<std::mutex>& lock, const Round& round);

  const int index_;
  const int size_;
  const std::optional<int> local_index_;
  const std::chrono::duration<double> patience_;
  const std::string place_;   // "pid 4711 on node1"
  std::unique_ptr<Hub> hub_;  // in process 0
  Socket socket_;
  std::thread listener_;
  std::function<bool()> stop_;

  std::mutex sending_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::string label_;
  long epoch_ = 0, sequence_ = 0;
  long told_ = -1;  // the last epoch whose failure the callbacks have heard of
  std::map<Round, std::vector<std::string>> gathered_;
  std::map<long, std::string> failures_;     // by epoch
  std::string gone_;                         // for good: who ended, and how
  std::optional<std::string> missing_;       // the hub's answer
  std::string hub_place_;                    // process 0's; before it is known its address
  std::optional<Clock::time_point> called_;  // the hub, which has not answered so far
  bool silent_ = false;                      // it never did
  bool closing_ = false;
  bool closed_ = false;  // the listener has ended
  bool lost_ = false;    // and process 0 had not said that it would
  bool died_ = false;    // somebody ended so

  FailureCallbacks callbacks_;
};

}  // namespace duet
