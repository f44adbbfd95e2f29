// TCP by the system's calls.
#include "team/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

constexpr int kConnectMilliseconds = 2000;
constexpr int kStallSeconds = 10;

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

// The first byte may take for ever, the rest of a frame may not stall.
bool receive_all(int descriptor, char* data, std::size_t bytes, bool begun) {
  while (bytes > 0) {
    pollfd ready{descriptor, POLLIN, 0};
    const int count = ::poll(&ready, 1, begun ? kStallSeconds * 1000 : -1);
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

void prepare(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval stall{kStallSeconds, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof stall);
}

// connect() with a limit: an address that nothing answers for would take minutes. A limit on
// sending is one on connecting as well.
bool connect_in_time(int descriptor, const addrinfo& to) {
  const timeval limit{kConnectMilliseconds / 1000, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(descriptor, to.ai_addr, to.ai_addrlen) == 0) return true;
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

}  // namespace

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

Socket Socket::listen(int port) {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool six = socket.open();
  if (!six) socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1, off = 0;
  setsockopt(socket.descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (six) setsockopt(socket.descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = any6.sin6_port;
  const auto* address =
      six ? reinterpret_cast<sockaddr*>(&any6) : reinterpret_cast<sockaddr*>(&any4);
  const socklen_t length = six ? sizeof any6 : sizeof any4;
  if (::bind(socket.descriptor_, address, length) != 0 ||
      ::listen(socket.descriptor_, SOMAXCONN) != 0) {
    throw UsageError(fmt::format("expected port {} to be free for the run's processes: {}", port,
                                 std::strerror(errno)));
  }
  return socket;
}

Socket Socket::connect(const std::string& address, int port, std::string& reason) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (result != 0) {
    reason = gai_strerror(result);
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.open() && connect_in_time(socket.descriptor_, *each) &&
        !reached_itself(socket.descriptor_)) {
      prepare(socket.descriptor_);
      return socket;
    }
    reason = std::strerror(errno);
  }
  return {};
}

int Socket::port() const {
  sockaddr_in6 address{};  // the larger of the two; the port stands at the same place in both
  socklen_t length = sizeof address;
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin6_port);
}

Socket Socket::accept() const {
  Socket socket(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.open()) prepare(socket.descriptor_);
  return socket;
}

bool Socket::send(const Frame& frame) const {
  const std::string packed = pack({pack(frame)});
  return send_all(descriptor_, packed.data(), packed.size());
}

std::optional<Frame> Socket::receive(std::size_t most) const {
  std::uint64_t length = 0;
  if (!receive_all(descriptor_, reinterpret_cast<char*>(&length), sizeof length, false)) return {};
  if (length > most) return {};
  std::string packed(length, '\0');
  if (!receive_all(descriptor_, packed.data(), packed.size(), true)) return {};
  try {
    return unpack(packed);
  } catch (const Error&) {
    return {};
  }
}

void Socket::shut() const {
  if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return addresses;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(found, freeifaddrs);
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (each->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = "";
    const auto* address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) {
      addresses.emplace_back(text);
    }
  }
  return addresses;
}

}  // namespace duet
