// The hub's thread: sleeps until a connection has something, or somebody who was asked has been
// silent for too long, so that it takes nothing from what is being measured.
#include "team/hub.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "core/error.h"

namespace duet {
namespace {

constexpr std::size_t kLongestHello = 4096;

}  // namespace

Hub::Hub(int port, int size, std::string token, double patience_seconds)
    : size_(size),
      token_(std::move(token)),
      patience_(patience_seconds),
      listener_(Socket::listen(port)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      members_(static_cast<std::size_t>(size)) {
  for (int i = 0; i < size; ++i) {
    members_[static_cast<std::size_t>(i)].name = fmt::format("process {} of {}", i, size);
  }
  thread_ = std::thread([this] { serve(); });
}

Hub::~Hub() {
  const std::uint64_t one = 1;
  if (write(wake_, &one, sizeof one) == sizeof one) thread_.join();
  close(wake_);
}

void Hub::serve() {
  for (;;) {
    std::vector<pollfd> all{{wake_, POLLIN, 0}, {listener_.descriptor(), POLLIN, 0}};
    for (const Member& member : members_) all.push_back({member.socket.descriptor(), POLLIN, 0});
    for (const Socket& socket : unknown_) all.push_back({socket.descriptor(), POLLIN, 0});
    if (poll(all.data(), all.size(), milliseconds_left()) < 0 && errno != EINTR) return;
    const auto ready = [&](std::size_t i) { return all[i].revents != 0; };
    if (ready(0)) break;
    std::vector<Socket> unknown = std::move(unknown_);
    unknown_.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (ready(2 + i)) listen_to(members_[i]);
    }
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      if (ready(2 + members_.size() + i)) {
        greet(std::move(unknown[i]));
      } else {
        unknown_.push_back(std::move(unknown[i]));
      }
    }
    if (ready(1)) {
      Socket socket = listener_.accept();
      if (socket.open()) unknown_.push_back(std::move(socket));
    }
    give_up_on_silent();
  }
  tell_all({"ended", members_.front().name + " has ended"});
}

// Whoever does not begin as this run's processes do is not one of them, and gets no answer.
void Hub::greet(Socket socket) {
  const auto hello = socket.receive(kLongestHello);
  if (!hello || hello->size() != 5 || hello->at(0) != "hello") return;
  const std::string reason = refusal(*hello);
  if (!reason.empty()) {
    socket.send({"wrong", reason});
    return;
  }
  Member& member = members_[static_cast<std::size_t>(std::stoi(hello->at(2)))];
  member.socket = std::move(socket);
  member.name = hello->at(4);
  for (const Frame& farewell : farewells_) member.socket.send(farewell);
}

std::string Hub::refusal(const Frame& hello) const {
  if (hello[1] != token_) return "another run listens there";
  if (hello[3] != std::to_string(size_)) {
    return fmt::format("expected the number of processes that process 0 has, {}, not {}", size_,
                       hello[3]);
  }
  for (int i = 0; i < size_; ++i) {
    if (hello[2] != std::to_string(i)) continue;
    const Member& member = members_[static_cast<std::size_t>(i)];
    if (!member.socket.open() && !member.ended) return "";
    return fmt::format("expected every process to have a number of its own: {} is there as {}", i,
                       member.name);
  }
  return fmt::format("expected a process from 0 to {}, not {}", size_ - 1, hello[2]);
}

void Hub::listen_to(Member& member) {
  const auto frame = member.socket.receive();
  if (!frame || frame->empty()) return leave(member, "gone", member.name + " is gone");
  try {
    member.asked.reset();
    take(member, *frame);
  } catch (const std::exception& error) {  // no process of this program sends such a frame
    leave(member, "gone", fmt::format("{} is not understood: {}", member.name, error.what()));
  }
}

void Hub::take(Member& member, const Frame& frame) {
  const std::string& kind = frame.front();
  if (kind == "gather") {
    gather(static_cast<int>(&member - members_.data()), frame);
  } else if (kind == "name") {
    member.name = frame.at(1);
  } else if (kind == "who") {
    member.socket.send({"who", missing({std::stol(frame.at(1)), std::stol(frame.at(2))})});
  } else if (kind == "fail") {
    tell_all({"fail", frame.at(1), frame.at(2)});
  } else if (kind == "call") {
    member.socket.send({"here"});
    call_all();
  } else if (kind == "here") {
    return;
  } else if (kind == "bye") {
    leave(member, "ended", member.name + " has ended");
  } else {
    throw Error(fmt::format("a frame '{}'", kind));
  }
}

void Hub::gather(int index, const Frame& frame) {
  const Round round{std::stol(frame.at(1)), std::stol(frame.at(2))};
  std::map<int, std::string>& parts = gatherings_[round].parts;
  parts[index] = frame.at(3);
  if (static_cast<int>(parts.size()) < size_) return;
  Frame all{"all", frame.at(1), frame.at(2)};
  for (auto& [process, bytes] : parts) all.push_back(std::move(bytes));
  // What all have passed nobody waits for any more, failed rounds of earlier epochs among it.
  gatherings_.erase(gatherings_.begin(), gatherings_.upper_bound(round));
  tell_all(all);
}

// A process that is stopped, or whose machine is gone without a word, keeps its connection.
void Hub::call_all() {
  for (Member& member : members_) {
    if (!member.socket.open() || member.asked) continue;
    member.asked = Clock::now();
    member.socket.send({"call"});
  }
}

int Hub::milliseconds_left() const {
  std::optional<Clock::time_point> first;
  for (const Member& member : members_) {
    if (member.socket.open() && member.asked && (!first || *member.asked < *first)) {
      first = member.asked;
    }
  }
  if (!first) return -1;
  const std::chrono::duration<double, std::milli> left = *first + patience_ - Clock::now();
  return std::max(0, static_cast<int>(left.count()) + 1);
}

void Hub::give_up_on_silent() {
  for (Member& member : members_) {
    const bool asked = member.socket.open() && member.asked;
    if (!asked || Clock::now() < *member.asked + patience_) continue;
    leave(member, "gone",
          fmt::format("{} has not answered for {:.3g} s and counts as gone", member.name,
                      patience_.count()));
  }
}

void Hub::leave(Member& member, const char* kind, const std::string& text) {
  member.socket = Socket();
  member.ended = true;
  farewells_.push_back({kind, text});
  tell_all(farewells_.back());
}

std::string Hub::missing(const Round& round) const {
  std::string text;
  const auto found = gatherings_.find(round);
  for (int i = 0; i < size_; ++i) {
    if (found != gatherings_.end() && found->second.parts.count(i) > 0) continue;
    const Member& member = members_[static_cast<std::size_t>(i)];
    text += (text.empty() ? "" : ", ") + member.name +
            (member.socket.open() ? " has not come" : " has not connected");
  }
  return text;
}

void Hub::tell_all(const Frame& frame) {
  for (const Member& member : members_) {
    if (member.socket.open()) member.socket.send(frame);
  }
}

}  // namespace duet
