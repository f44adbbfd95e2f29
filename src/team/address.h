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

// The addresses of a name, in the order to try them; empty, and `reason` set, if it does not
// resolve.
std::vector<SocketAddress> resolve(const std::string& name, int port, std::string& reason);

// Whether the name resolves to loopback addresses only ("localhost", "127.0.0.1").
bool is_loopback(const std::string& name);

// Every address of this machine: IPv4 and, where the kernel has it, IPv6.
SocketAddress any_address(int port);

// This machine's addresses without loopback.
std::vector<std::string> own_addresses();

}  // namespace duet
