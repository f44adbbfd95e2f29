#include "team/listeners.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace duet {
namespace {

// Others may know it by another address.
bool is_own_name(const std::string& name) {
  std::string reason;
  const bool numeric = name.find_first_not_of("0123456789.") == std::string::npos ||
                       name.find(':') != std::string::npos;
  return !numeric && name.compare(0, 9, "localhost") != 0 && is_loopback(name);
}

}  // namespace

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
