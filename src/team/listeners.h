#pragma once

#include <string>
#include <vector>

#include "team/socket.h"

namespace duet {

// The sockets at which process 0 accepts the others.
struct Listeners {
  std::vector<Socket> sockets;  // of one port
  std::string place;            // "10.0.0.1 port 29500", for messages
  bool everywhere = false;      // on every address of this machine
};

// At those addresses of `name` that are this machine's. Where none is (an address that is
// translated, a name that others know), or where the name is this machine's own but means loopback
// to it (Debian's 127.0.1.1): on every address, if a `secret` keeps other programs out. Throws
// UsageError where the port is taken, and where only every address would do without a secret.
Listeners listen_at(const std::string& name, int port, bool secret);
Listeners listen_everywhere(int port);

}  // namespace duet
