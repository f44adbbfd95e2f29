#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "team/authentication.h"
#include "team/connection.h"
#include "team/socket.h"

namespace duet {

constexpr std::size_t kMaxGatherBytes = std::size_t{256} << 20;  // of one process in one gather
constexpr int kProbesInTimeout = 4;  // of a process, in a heartbeat timeout (Processes::probe)

// A thread of process 0 to which every process of a run has one TCP connection. It carries gathers
// and failures, sends heartbeats when asked to, and notices a process's end by its connection's.
//
// After authentication (authentication.h) a frame begins with its kind. From a process to the hub:
//   name NAME                        what messages call this process from now on
//   gather EPOCH SEQUENCE BYTES      its part of a gather
//   who EPOCH SEQUENCE               which processes' parts are missing?
//   fail EPOCH TEXT                  this epoch has failed
//   decline EPOCH TEXT               it has ended early, though nothing is wrong
//   heartbeat                        does the hub answer? The hub then sends heartbeats to all
//   probe                            likewise, to those that it has not heard from lately
//   alive                            answers a heartbeat
//   bye                              this process ends as intended
// From the hub to processes:
//   all EPOCH SEQUENCE BYTES...      a complete gather, by process
//   who TEXT                         answers who
//   fail, decline EPOCH TEXT         passed on from a process
//   heartbeat, alive                 as above
//   gone TEXT                        a process is gone
//   ended TEXT                       a process ended after a bye
//
// An unauthenticated connection cannot end or delay a run: the hub never blocks, and it drops a
// connection that sends no valid hello within seconds, and the oldest one when there are too many.
class Hub {
 public:
  // For `size` processes that know the secret. A process that does not answer a heartbeat within
  // the timeout counts as gone.
  Hub(Listeners listeners, int size, std::string secret, double heartbeat_timeout_seconds);
  // Sends `ended` to the processes that are still connected.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  int port() const { return listeners_.sockets.front().port(); }
  bool everywhere() const { return listeners_.everywhere; }

 private:
  using GatherId = std::pair<long, long>;  // epoch, sequence
  struct Member {
    Connection connection;
    std::string name;
    SteadyClock::time_point heard;                          // the last bytes came
    std::optional<SteadyClock::time_point> heartbeat_sent;  // reset by any frame
    bool ended = false;                                     // after its bye, or gone
  };
  struct PendingConnection {  // connected, not authenticated yet
    Connection connection;
    Challenge challenge;
    SteadyClock::time_point deadline;
  };
  struct PartialGather {
    std::map<int, std::string> parts;
  };

  void serve();
  bool serve_once();
  int milliseconds_left(SteadyClock::time_point now) const;
  void allow_for_delay(SteadyClock::time_point due);
  void accept_all(const Socket& listener);
  void serve_member(Member& member, short ready);
  bool serve_pending(PendingConnection& pending);
  void handle_hello(PendingConnection& pending, const Frame& hello);
  std::string refusal(const PendingConnection& pending, const Frame& frame,
                      const Hello& hello) const;
  void handle_frame(Member& member, const Frame& frame);
  void gather(int index, const Frame& frame);
  void send_heartbeats(SteadyClock::time_point heard_before);
  void remove_unresponsive();
  void remove(Member& member, const char* kind, const std::string& text);
  std::string missing(const GatherId& id) const;
  void send_all(const Frame& frame);
  void flush_all();

  const int size_;
  const std::string secret_;
  const std::chrono::duration<double> heartbeat_timeout_;
  Listeners listeners_;
  int wake_ = -1;                          // an eventfd; written to end the thread
  std::vector<Member> members_;            // by process
  std::deque<PendingConnection> pending_;  // the oldest first
  std::string accept_error_;               // why no connection can be accepted; "" if they can
  SteadyClock::time_point accept_after_;   // accept no connection before
  std::map<GatherId, PartialGather> gathers_;
  std::vector<Frame> departures_;  // `gone` and `ended`; sent to processes that connect later
  std::thread thread_;
};

}  // namespace duet
