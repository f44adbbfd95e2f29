#include "team/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "team/secret.h"

namespace duet {
namespace {

constexpr std::chrono::milliseconds kRetry{50};
constexpr const char* kLoopback = "127.0.0.1";

// A hub answers at once; one that accepts thousands of connections may need another attempt.
constexpr double kHandshakeSeconds = 10;

std::vector<std::string> addresses_from(const std::string& host, const Frame& theirs) {
  if (host == host_name()) return {kLoopback};
  return theirs;
}

Listeners listeners_for(const Launch& launch) {
  if (launch.broadcast && !launch.one_node) return listen_everywhere(launch.port);
  const std::string address = launch.broadcast ? kLoopback : launch.addresses.front();
  return listen_at(address, launch.port, !launch.secret.empty());
}

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::unique_ptr<Hub> open_hub(Launch& launch) {
  std::unique_ptr<Hub> hub;
  if (launch.broadcast && launch.index == 0) launch.secret = make_secret();
  if (launch.index == 0) {
    hub = std::make_unique<Hub>(listeners_for(launch), launch.size, launch.secret,
                                launch.heartbeat_timeout_seconds);
  }
  if (launch.broadcast) {
    std::string text;
    if (hub) {
      text = fmt::format("{} {} {}", host_name(), hub->port(), launch.secret);
      for (const std::string& address : own_addresses()) text += " " + address;
    }
    Frame fields{""};
    for (const char c : launch.broadcast(text)) {
      if (c == ' ') fields.emplace_back();
      if (c != ' ') fields.back() += c;
    }
    if (fields.size() < 3)
      throw Error("the launcher's broadcast does not have the address of process 0");
    launch.port = std::stoi(fields[1]);
    launch.secret = fields[2];
    launch.addresses = addresses_from(fields[0], {fields.begin() + 3, fields.end()});
    if (launch.one_node) launch.addresses = {kLoopback};
  }
  if (hub && hub->everywhere()) launch.addresses = {kLoopback};
  return hub;
}

Socket connect_to_hub(const Launch& launch, const std::string& name, double deadline_seconds) {
  const auto begin = SteadyClock::now();
  std::string reason = "no address";
  for (;;) {
    for (const std::string& address : launch.addresses) {
      Socket socket = Socket::connect(address, launch.port, reason);
      if (!socket.open()) continue;
      const double left = deadline_seconds - seconds_since(begin);
      const Joined joined = join(socket, launch.secret, {launch.index, launch.size, name},
                                 std::clamp(left, 0.1, kHandshakeSeconds));
      if (joined.welcome) return socket;
      if (!joined.refused.empty()) throw UsageError(joined.refused);
      reason = joined.reason;
    }
    if (seconds_since(begin) >= deadline_seconds) {
      throw Timeout(fmt::format("waiting for process 0 at {} port {}: gave up after {} s: {}",
                                fmt::join(launch.addresses, ", "), launch.port, deadline_seconds,
                                reason));
    }
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace duet
