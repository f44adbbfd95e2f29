// A TCP connection that carries frames: lists of byte strings, each sent as a whole.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace duet {

using Frame = std::vector<std::string>;

// Move-only; closes its descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  // Listens on every address of this machine; port 0: any free one. Throws UsageError where the
  // port is taken.
  static Socket listen(int port);
  // One attempt, of two seconds at most; no open socket, and `reason` set, where it fails.
  static Socket connect(const std::string& address, int port, std::string& reason);

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int port() const;  // this end's
  // Not open where nobody came after all.
  Socket accept() const;

  // False where the other end is gone or takes nothing for ten seconds.
  bool send(const Frame& frame) const;
  // Blocks until a whole frame is there. Nothing where the other end is gone, stops within a frame
  // for ten seconds, or announces more than `most` bytes.
  std::optional<Frame> receive(std::size_t most = std::size_t{1} << 32) const;

  // Ends both directions, so that a receive() on another thread returns.
  void shut() const;

 private:
  void close();

  int descriptor_ = -1;
};

// This machine's addresses but for loopback.
std::vector<std::string> own_addresses();

}  // namespace duet
