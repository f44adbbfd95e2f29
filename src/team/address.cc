#include "team/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

namespace duet {
namespace {

bool has_ipv6() {
  const int descriptor = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0;
}

template <typename Address>
SocketAddress socket_address(const Address& address) {
  SocketAddress result;
  std::memcpy(&result.storage, &address, sizeof address);
  result.length = sizeof address;
  return result;
}

}  // namespace

std::string SocketAddress::text() const {
  char text[NI_MAXHOST] = "";
  if (getnameinfo(get(), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return text;
}

bool SocketAddress::loopback() const {
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    return ntohl(address.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  sockaddr_in6 address{};
  std::memcpy(&address, &storage, sizeof address);
  return storage.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
}

std::vector<SocketAddress> resolve(const std::string& name, int port, std::string& reason) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (result != 0) {
    reason = gai_strerror(result);
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress address;
    if (each->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

bool is_loopback(const std::string& name) {
  std::string reason;
  const std::vector<SocketAddress> all = resolve(name, 0, reason);
  const auto loopback = [](const SocketAddress& each) { return each.loopback(); };
  return !all.empty() && std::all_of(all.begin(), all.end(), loopback);
}

SocketAddress any_address(int port) {
  if (has_ipv6()) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    return socket_address(any);
  }
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<std::uint16_t>(port));
  return socket_address(any);
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
