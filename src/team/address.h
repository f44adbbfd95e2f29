// Addresses of sockets: what a name means on this machine, and which of them only this machine
// reaches.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace duet {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  std::string text() const;  // numeric, without the port: "10.0.0.1"
  bool loopback() const;
};

// In the order to try them; empty, and `reason` set, where the name means nothing here.
std::vector<SocketAddress> resolve(const std::string& name, int port, std::string& reason);

// Does the name mean this machine alone ("localhost", "127.0.0.1"), as far as can be told here?
bool is_loopback(const std::string& name);

// Every address of this machine: IPv4 and, where the kernel has it, IPv6.
SocketAddress any_address(int port);

// This machine's addresses but for loopback.
std::vector<std::string> own_addresses();

}  // namespace duet
