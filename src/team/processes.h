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

#include "core/clock.h"
#include "core/deadline.h"
#include "core/error.h"
#include "team/failures.h"
#include "team/launch.h"
#include "team/socket.h"

namespace duet {

class Hub;

// A wait with this deadline ends only by what it waits for or by the loss of a process.
inline constexpr double kNoDeadline = std::numeric_limits<double>::infinity();

// This process among those of a run: barriers, gathers, and failures of any of them. All of it goes
// over one TCP connection to process 0. Nothing is sent unless a call needs it, but for a few bytes
// now and then during a long wait, so that next to nothing runs beside a measurement.
class Processes {
 public:
  // By what launched this process: mpirun or srun, else MASTER_ADDR, MASTER_PORT (29500), RANK and
  // WORLD_SIZE (RANK counts processes), else this process alone. Returns when all have connected.
  // Throws UsageError naming what was expected of the environment, and Timeout naming who never
  // came.
  static std::unique_ptr<Processes> find(double deadline_seconds = kDefaultDeadlineSeconds);

  explicit Processes(Launch launch, double deadline_seconds = kDefaultDeadlineSeconds);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int index() const { return index_; }
  int size() const { return size_; }

  // This process's number on its node, where the launcher gives one (LOCAL_RANK, MPI, Slurm). A
  // process with a number drives the one GPU of that number; a process without drives all it sees.
  std::optional<int> local_index() const { return local_index_; }

  // "rank 2 (pid 4711 on node1)".
  std::string name() const;
  // What messages call this process: "process 2" at first; "rank 2" or "ranks 4 to 7" by a team.
  void set_label(const std::string& label);

  // Everyone's bytes, by process. Every process calls it in the same order, from one thread at a
  // time. `what` ends the sentence "waiting for ..." and is equal in all processes: if they are in
  // different calls, all throw BadArgument naming them, and may go on. Throws PeerFailed
  // naming the process that is gone or failed, Timeout naming those that did not come; a Timeout is
  // a failure for all. After a failure, and when a process has waited for
  // Launch::heartbeat_timeout_seconds, heartbeats go to all processes; one that does not answer for
  // as long counts as gone.
  std::vector<std::string> gather_all(const std::string& mine, const std::string& what,
                                      double deadline_seconds) {
    return gather_all(mine, what, what, deadline_seconds);
  }
  // The same where `call` is what is equal in all processes.
  std::vector<std::string> gather_all(const std::string& mine, const std::string& call,
                                      const std::string& what, double deadline_seconds);
  void barrier(const std::string& what, double deadline_seconds);

  // For who may wait for other processes by other means: asks all that were not heard from lately
  // to answer, and returns at once. To be called every probe_interval() seconds meanwhile: then a
  // process counts as gone if it does not answer for the heartbeat timeout. From any thread.
  void probe();
  double probe_interval() const;

  // Fails the epoch: waits of all processes throw PeerFailed with this process's name and the text
  // until the next epoch.
  void fail(const std::string& text);
  // The same where what the processes are about to do is not possible here: nothing is wrong, and
  // callbacks of on_failure() are not called.
  void decline(const std::string& text);

  // For who goes on without the others: to them this process is gone from now on, as if it had
  // died, and its own waits throw. From any thread.
  void leave() const;

  // From now on waits throw Interrupted once `stop` has been true for the heartbeat timeout, in
  // which other processes that are interrupted as well can still come. Not while another thread
  // waits.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }

  // Waits of a failed epoch throw; those of the next epoch do not. Every process begins the same
  // epochs. A process that is gone is missing in all later ones.
  void begin_epoch();

  // Calls `notify` with the reason when a process (also this one) fails or is gone, on any thread
  // and perhaps more than once; at once if that has happened already. For callers that must release
  // waits on devices. It must neither wait for ranks nor call forget(). Returns a number for
  // forget().
  int on_failure(std::function<void(const std::string&)> notify);
  // Removes the callback with this number. When this returns, it does not run and will not run.
  void forget(int number);

  // Why waits throw now; "" if they do not.
  std::string failure() const;

  // Whether any process ended without a bye.
  bool lost_any() const;
  // Whether process 0 did. Then the hub is gone, and other losses go unnoticed.
  bool lost_process_0() const;

 private:
  using GatherId = std::pair<long, long>;  // epoch, sequence

  void join_run(const Launch& launch, double deadline_seconds);
  void receive_frames();
  void note_loss();
  void handle_frame(const Frame& frame);
  void send(const Frame& frame);
  void end_epoch(const char* kind, const std::string& reason);
  void send_heartbeat(std::unique_lock<std::mutex>& lock, const char* kind = "heartbeat");
  void give_up_hub();  // with the lock
  std::vector<std::string> gather_bytes(const std::string& mine, const std::string& what,
                                        double deadline_seconds);
  bool wait(std::unique_lock<std::mutex>& lock, double seconds, const std::function<bool()>& done);
  std::string failure_locked() const;
  void raise(const std::string& what) const;
  std::string missing(std::unique_lock<std::mutex>& lock, const GatherId& id);

  const int index_;
  const int size_;
  const std::optional<int> local_index_;
  const std::chrono::duration<double> heartbeat_timeout_;
  const std::string place_;   // "pid 4711 on node1"
  std::unique_ptr<Hub> hub_;  // in process 0
  Socket socket_;
  std::thread receiver_;
  std::function<bool()> stop_;

  std::mutex sending_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::string label_;
  long epoch_ = 0, sequence_ = 0;
  long notified_epoch_ = -1;  // the last epoch whose failure the callbacks were called for
  std::map<GatherId, std::vector<std::string>> gathered_;
  std::map<long, std::string> failures_, declined_;  // by epoch
  std::string gone_;                    // in all further epochs: which process ended, and how
  std::optional<std::string> missing_;  // the hub's answer
  std::string hub_address_;  // process 0's place_; its network address until that is known
  std::optional<SteadyClock::time_point> heartbeat_sent_;  // to the hub, unanswered
  bool hub_unresponsive_ = false;                          // for the heartbeat timeout
  bool closing_ = false;
  bool closed_ = false;          // receive_frames() has ended
  bool lost_process_0_ = false;  // without `ended`
  bool lost_any_ = false;        // a process is gone

  FailureCallbacks callbacks_;
};

// --device as this process is to open it. A process that knows its place on its node drives one
// GPU: of "cuda" (hip) it opens cuda:PLACE; what names GPUs is opened as it is.
std::string own_device(const std::string& device, const Processes& processes);

}  // namespace duet
