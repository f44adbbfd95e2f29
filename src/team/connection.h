#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "team/socket.h"

namespace duet {

// The hub's end of a TCP connection that carries frames. Never blocks: received bytes are kept
// until a frame is complete, sent ones until the other end takes them.
class Connection {
 public:
  using Packed = std::shared_ptr<const std::string>;  // by packed_frame(), of any number of readers

  Connection() = default;
  // Frames of more than `most` bytes are refused.
  Connection(Socket socket, std::size_t most) : socket_(std::move(socket)), most_(most) {}

  bool open() const { return socket_.open(); }
  int descriptor() const { return socket_.descriptor(); }
  // The events for poll(). An end with too many unsent frames is not read from meanwhile.
  short events() const;
  bool sending() const { return !waiting_.empty(); }
  // Changes the limit, for frames of which no byte has come yet.
  void allow(std::size_t most) { most_ = most; }

  // Takes what has come, up to a limit, so that no connection keeps the hub from the others.
  // Returns the number of bytes. Nothing where the other end is gone.
  std::optional<std::size_t> read();
  // The next frame, where it has come as a whole. Throws Error where what comes is no frame or too
  // long.
  std::optional<Frame> next();

  // Sends now what the other end takes now, and keeps the rest for flush().
  void send(const Packed& packed);
  void send(const Frame& frame);
  // Whether the other end took anything.
  bool flush();

 private:
  Socket socket_;
  std::size_t most_ = 0;
  std::string received_;   // from the first byte of a frame
  std::size_t taken_ = 0;  // of received_, in frames that next() gave
  std::deque<Packed> waiting_;
  std::size_t sent_ = 0;  // of the first of them
};

}  // namespace duet
