#include "team/socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

constexpr int kConnectMilliseconds = 2000;
constexpr int kStallSeconds = 10;

constexpr std::size_t kFirstBytes = 64 << 10;  // then as many as have come

bool send_all(int descriptor, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = ::send(descriptor, data, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

void prepare(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval stall{kStallSeconds, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof stall);
}

// connect() with a limit: an address that nothing answers for would take minutes. A limit on
// sending is one on connecting as well.
bool connect_in_time(int descriptor, const SocketAddress& to) {
  const timeval limit{kConnectMilliseconds / 1000, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(descriptor, to.get(), to.length) == 0) return true;
  if (errno == EINPROGRESS) errno = ETIMEDOUT;
  return false;
}

// While nobody listens at a port, a connection may be given that port as its own and so reach
// itself (RFC 9293, 3.5, simultaneous open), and then hold it against the one who is to listen.
bool reached_itself(int descriptor) {
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, peer_length = sizeof peer;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_length) != 0 ||
      getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0 ||
      own_length != peer_length || std::memcmp(&own, &peer, own_length) != 0) {
    return false;
  }
  const linger reset{1, 0};  // the port is free at once, not after a minute
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  errno = ECONNREFUSED;
  return true;
}

int port_of(const SocketAddress& address) {
  sockaddr_in6 either{};  // the port stands at the same place in an IPv4 address
  std::memcpy(&either, &address.storage, sizeof either);
  return ntohs(either.sin6_port);
}

// Others may know it by another address.
bool is_own_name(const std::string& name) {
  std::string reason;
  const bool numeric = name.find_first_not_of("0123456789.") == std::string::npos ||
                       name.find(':') != std::string::npos;
  return !numeric && name.compare(0, 9, "localhost") != 0 && is_loopback(name);
}

}  // namespace

std::string packed_frame(const Frame& frame) { return pack({pack(frame)}); }

// The time limit of a receive: of the whole frame, or of none until the first byte and
// kStallSeconds for each further one.
class Socket::Limit {
 public:
  Limit() = default;
  explicit Limit(double seconds)
      : end_(SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                      std::chrono::duration<double>(seconds))) {}

  bool receive(int descriptor, char* data, std::size_t bytes, bool begun) const {
    while (bytes > 0) {
      pollfd ready{descriptor, POLLIN, 0};
      const int count = ::poll(&ready, 1, milliseconds(begun));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      const ssize_t got = ::recv(descriptor, data, bytes, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      begun = true;
      data += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }

 private:
  int milliseconds(bool begun) const {
    if (!end_) return begun ? kStallSeconds * 1000 : -1;
    const std::chrono::duration<double, std::milli> left = *end_ - SteadyClock::now();
    return std::max(0, static_cast<int>(left.count()));
  }

  std::optional<SteadyClock::time_point> end_;
};

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Socket Socket::listen(const SocketAddress& address) {
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open()) return socket;
  const int on = 1, off = 0;
  setsockopt(socket.descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6) {
    setsockopt(socket.descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket.descriptor_, address.get(), address.length) == 0 &&
      ::listen(socket.descriptor_, SOMAXCONN) == 0) {
    return socket;
  }
  if (errno == EADDRNOTAVAIL) return {};
  throw UsageError(fmt::format("expected port {} to be free for the run's processes: {}",
                               port_of(address), std::strerror(errno)));
}

Socket Socket::connect(const std::string& name, int port, std::string& reason) {
  for (const SocketAddress& each : resolve(name, port, reason)) {
    Socket socket(::socket(each.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.open() && connect_in_time(socket.descriptor_, each) &&
        !reached_itself(socket.descriptor_)) {
      prepare(socket.descriptor_);
      return socket;
    }
    reason = std::strerror(errno);
  }
  return {};
}

int Socket::port() const {
  SocketAddress address;
  address.length = sizeof address.storage;
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address.storage), &address.length);
  return port_of(address);
}

Socket Socket::accept() const {
  Socket socket(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.open()) prepare(socket.descriptor_);
  return socket;
}

bool Socket::send(const Frame& frame) const {
  const std::string packed = packed_frame(frame);
  return send_all(descriptor_, packed.data(), packed.size());
}

std::optional<Frame> Socket::receive(std::size_t most) const { return receive(most, Limit()); }

std::optional<Frame> Socket::receive_within(double seconds, std::size_t most) const {
  return receive(most, Limit(seconds));
}

std::optional<Frame> Socket::receive(std::size_t most, const Limit& limit) const {
  std::uint64_t length = 0;
  if (!limit.receive(descriptor_, reinterpret_cast<char*>(&length), sizeof length, false) ||
      length > most) {
    return {};
  }
  std::string packed;
  while (packed.size() < length) {
    const std::size_t begin = packed.size();
    const std::size_t next = std::min<std::size_t>(length - begin, std::max(kFirstBytes, begin));
    packed.resize(begin + next);
    if (!limit.receive(descriptor_, packed.data() + begin, next, true)) return {};
  }
  try {
    return unpack(packed);
  } catch (const Error&) {
    return {};
  }
}

void Socket::shut() const {
  if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
}

Listeners listen_everywhere(int port) {
  Listeners all;
  all.sockets.push_back(Socket::listen(port));
  all.place = fmt::format("every address, port {}", all.sockets.front().port());
  all.everywhere = true;
  return all;
}

Listeners listen_at(const std::string& name, int port, bool secret) {
  if (secret && is_own_name(name)) return listen_everywhere(port);
  Listeners at;
  std::vector<std::string> texts;
  std::string reason = "it is no address of this machine";
  for (const SocketAddress& address : resolve(name, port, reason)) {
    if (std::count(texts.begin(), texts.end(), address.text()) > 0) continue;
    Socket socket = Socket::listen(address);
    if (!socket.open()) continue;
    texts.push_back(address.text());
    at.sockets.push_back(std::move(socket));
  }
  if (!at.sockets.empty()) {
    at.place = fmt::format("{} port {}", fmt::join(texts, ", "), at.sockets.front().port());
    return at;
  }
  if (secret) return listen_everywhere(port);
  throw UsageError(fmt::format(
      "MASTER_ADDR={}: expected an address of the machine of process 0 ({}), or DUET_TOKEN to "
      "listen on all",
      name, reason));
}

}  // namespace duet
