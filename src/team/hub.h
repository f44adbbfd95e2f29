// Where the processes of a run meet: a thread in process 0's process to which every process has one
// connection. It passes on what is gathered, and notices who is gone by the connection's end.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "team/authentication.h"
#include "team/connection.h"
#include "team/listeners.h"

namespace duet {

constexpr std::size_t kLongestPart = std::size_t{256} << 20;  // of what a process sends at once

// After the handshake (handshake.h) frames begin with their kind. To the hub:
//   name NAME                        how messages call this process from now on
//   gather EPOCH SEQUENCE BYTES      its part of a gathering
//   who EPOCH SEQUENCE               asks who has not brought its part
//   fail EPOCH TEXT                  this epoch has failed
//   call                             asks whether the hub answers, and it whether all others do
//   here                             the answer
//   bye                              it ends as it should
// From the hub: `all EPOCH SEQUENCE BYTES...`, `who TEXT`, `fail EPOCH
// TEXT`, `here` to a call, `call` to those it asks, `gone TEXT`, and `ended TEXT` for one that said
// bye.
//
// Nothing that a stranger does ends or delays a run: the hub never blocks, who has not said a
// proper hello within seconds is dropped, and the longest of them when there are many.
class Hub {
 public:
  // For `size` processes that know the secret. Who answers nothing for the patience is gone.
  Hub(Listeners listeners, int size, std::string secret, double patience_seconds);
  // Tells those that are still there that it ends.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  int port() const { return listeners_.sockets.front().port(); }
  bool everywhere() const { return listeners_.everywhere; }

 private:
  using Round = std::pair<long, long>;  // epoch, sequence
  using Clock = std::chrono::steady_clock;
  struct Member {
    Connection connection;
    std::string name;
    std::optional<Clock::time_point> asked;  // and nothing has come since
    bool ended = false;                      // it said bye, or is gone
  };
  struct Stranger {  // connected, without a hello so far
    Connection connection;
    Challenge challenge;
    Clock::time_point until;
  };
  struct Gathering {
    std::map<int, std::string> parts;
  };

  void serve();
  bool serve_once();
  int milliseconds_left() const;
  void allow_for_delay(Clock::time_point due);
  void accept_all(const Socket& listener);
  void serve_member(Member& member, short ready);
  bool serve_stranger(Stranger& stranger);
  void greet(Stranger& stranger, const Frame& hello);
  std::string refusal(const Stranger& stranger, const Frame& frame, const Hello& hello) const;
  void take(Member& member, const Frame& frame);
  void gather(int index, const Frame& frame);
  void call_all();
  void give_up_on_silent();
  void leave(Member& member, const char* kind, const std::string& text);
  std::string missing(const Round& round) const;
  void tell_all(const Frame& frame);
  void say_farewell();

  const int size_;
  const std::string secret_;
  const std::chrono::duration<double> patience_;
  Listeners listeners_;
  int wake_ = -1;                   // an eventfd, written when the hub shall end
  std::vector<Member> members_;     // by process
  std::deque<Stranger> strangers_;  // the longest first
  std::string accept_trouble_;      // why no connection can be taken
  Clock::time_point accept_from_;   // not before
  std::map<Round, Gathering> gatherings_;
  std::vector<Frame> farewells_;  // what those who come later must know
  std::thread thread_;
};

}  // namespace duet
