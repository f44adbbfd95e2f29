#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "team/address.h"

namespace duet {

// A list of byte strings, sent as a whole.
using Frame = std::vector<std::string>;

// A frame as bytes of the connection: its length, then the items.
std::string packed_frame(const Frame& frame);

// A TCP socket. Move-only; the destructor closes it.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  // Listens; port 0: any free one. Throws UsageError where the port is taken, and gives no open
  // socket where the address is not this machine's.
  static Socket listen(const SocketAddress& address);
  // On every address of this machine.
  static Socket listen(int port) { return listen(any_address(port)); }
  // One attempt, of two seconds at most; no open socket, and `reason` set, where it fails.
  static Socket connect(const std::string& name, int port, std::string& reason);

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int port() const;  // this end's
  // Not open if no connection was waiting.
  Socket accept() const;

  // False where the other end is gone or takes nothing for ten seconds.
  bool send(const Frame& frame) const;
  // Blocks until a whole frame is there. Nothing where the other end is gone, stops within a frame
  // for ten seconds, or announces more than `most` bytes. Memory grows as bytes come, not as they
  // are announced.
  std::optional<Frame> receive(std::size_t most = std::size_t{1} << 32) const;
  // As receive(), but the whole frame must come within `seconds`.
  std::optional<Frame> receive_within(double seconds, std::size_t most) const;

  // Ends both directions, so that a receive() on another thread returns.
  void shut() const;

 private:
  class Limit;

  void close();
  std::optional<Frame> receive(std::size_t most, const Limit& limit) const;

  int descriptor_ = -1;
};

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
