// Authentication of a connection to the hub. Each end proves that it knows the run's secret without
// sending it:
//   the hub:      challenge NONCE
//   the process:  hello INDEX SIZE NAME NONCE PROOF
//   the hub:      welcome PROOF, or wrong TEXT
// A proof is the HMAC of both nonces and of the hello's fields, so that frames of an earlier
// connection, or of the other end, cannot be replayed. Without a secret it proves nothing, and
// both ends must be of one user on one machine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "team/socket.h"

namespace duet {

constexpr std::size_t kMaxHandshakeBytes = 4096;  // any of these frames

struct Hello {
  int index = 0;
  int size = 1;
  std::string name;  // "process 2 (pid 4711 on node1)"
};

// The hub's part.
class Challenge {
 public:
  explicit Challenge(std::string secret);

  Frame frame() const { return {"challenge", nonce_}; }
  // Nothing where the frame is not a hello of this program.
  static std::optional<Hello> understood(const Frame& hello);
  bool proven(const Frame& hello) const;
  Frame welcome(const Frame& hello) const;

 private:
  std::string secret_, nonce_;
};

// The process's answer to a challenge.
Frame hello_frame(const std::string& secret, const std::string& nonce, const Hello& hello);

// All of the process's part, over a connection that has just been made.
struct Joined {
  bool welcome = false;
  std::string refused;  // by the hub, for good: its reason
  std::string reason;   // why this was no hub, or not now
};
Joined join(const Socket& socket, const std::string& secret, const Hello& hello, double seconds);

// Whether the other end of this connection, within this machine, is a socket of this process's
// user. True if the kernel does not answer.
bool peer_is_this_user(int descriptor);

}  // namespace duet
