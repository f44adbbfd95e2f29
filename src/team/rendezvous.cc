// The launcher's broadcast, and trying to connect.
#include "team/rendezvous.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/error.h"

namespace duet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetry{50};

std::string random_token() {
  unsigned long bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<unsigned long>(getpid());
  return fmt::format("{:x}", bits);
}

std::vector<std::string> addresses_from(const std::string& host, const Frame& theirs) {
  if (host == host_name()) return {"127.0.0.1"};
  return theirs;
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::unique_ptr<Hub> open_hub(Launch& launch) {
  std::unique_ptr<Hub> hub;
  if (launch.broadcast && launch.index == 0) launch.token = random_token();
  if (launch.index == 0) {
    hub = std::make_unique<Hub>(launch.port, launch.size, launch.token, launch.patience_seconds);
  }
  if (launch.broadcast) {
    std::string text;
    if (hub) {
      text = fmt::format("{} {} {}", host_name(), hub->port(), launch.token);
      for (const std::string& address : own_addresses()) text += " " + address;
    }
    Frame words{""};
    for (const char c : launch.broadcast(text)) {
      if (c == ' ') words.emplace_back();
      if (c != ' ') words.back() += c;
    }
    if (words.size() < 3) throw Error("the launcher did not tell where process 0 listens");
    launch.port = std::stoi(words[1]);
    launch.token = words[2];
    launch.addresses = addresses_from(words[0], {words.begin() + 3, words.end()});
  }
  if (hub) launch.addresses = {"127.0.0.1"};
  return hub;
}

Socket connect_to_hub(const Launch& launch, double deadline_seconds) {
  const auto begin = Clock::now();
  std::string reason = "no address";
  for (;;) {
    for (const std::string& address : launch.addresses) {
      Socket socket = Socket::connect(address, launch.port, reason);
      if (socket.open()) return socket;
    }
    const auto waited = Clock::now() - begin;
    if (std::chrono::duration<double>(waited).count() >= deadline_seconds) {
      throw Timeout(fmt::format("waiting for process 0 at {} port {}: gave up after {} s: {}",
                                fmt::join(launch.addresses, ", "), launch.port, deadline_seconds,
                                reason));
    }
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace duet
