// Where the processes of a run meet: a thread in process 0's process to which every process has one
// connection. It passes on what is gathered, and notices who is gone by the connection's end.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "team/socket.h"

namespace duet {

// Frames begin with their kind. To the hub:
//   hello TOKEN INDEX SIZE NAME      the first of a connection
//   name NAME                        how messages call this process from now on
//   gather EPOCH SEQUENCE BYTES      its part of a gathering
//   who EPOCH SEQUENCE               asks who has not brought its part
//   fail EPOCH TEXT                  this epoch has failed
//   call                             asks whether the hub answers, and it whether all others do
//   here                             the answer
//   bye                              it ends as it should
// From the hub: `wrong TEXT` to a hello, `all EPOCH SEQUENCE BYTES...`, `who TEXT`, `fail EPOCH
// TEXT`, `here` to a call, `call` to those it asks, `gone TEXT`, and `ended TEXT` for one that said
// bye.
class Hub {
 public:
  // Listens on `port` (0: any free one) for `size` processes that know the token. Throws UsageError
  // where the port is taken. Who answers nothing for the patience is gone.
  Hub(int port, int size, std::string token, double patience_seconds);
  // Tells those that are still there that it ends.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  int port() const { return listener_.port(); }

 private:
  using Round = std::pair<long, long>;  // epoch, sequence
  using Clock = std::chrono::steady_clock;
  struct Member {
    Socket socket;
    std::string name;
    std::optional<Clock::time_point> asked;  // and nothing has come since
    bool ended = false;                      // it said bye, or is gone
  };
  struct Gathering {
    std::map<int, std::string> parts;
  };

  void serve();
  void greet(Socket socket);
  std::string refusal(const Frame& hello) const;
  void listen_to(Member& member);
  void take(Member& member, const Frame& frame);
  void gather(int index, const Frame& frame);
  void call_all();
  // Until somebody has been silent for too long; -1: nobody is asked.
  int milliseconds_left() const;
  void give_up_on_silent();
  void leave(Member& member, const char* kind, const std::string& text);
  std::string missing(const Round& round) const;
  void tell_all(const Frame& frame);

  const int size_;
  const std::string token_;
  const std::chrono::duration<double> patience_;
  Socket listener_;
  int wake_ = -1;                // an eventfd, written when the hub shall end
  std::vector<Member> members_;  // by process
  std::vector<Socket> unknown_;  // connected, without a hello so far
  std::map<Round, Gathering> gatherings_;
  std::vector<Frame> farewells_;  // what those who come later must know
  std::thread thread_;
};

}  // namespace duet
