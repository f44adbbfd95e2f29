// The hub's thread: sleeps until a connection has something, or somebody's time is over, so that it
// takes nothing from what is being measured.
#include "team/hub.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/thread.h"
#include "team/peer_user.h"

namespace duet {
namespace {

// A process answers the challenge at once; many may come at the same time.
constexpr std::chrono::seconds kHelloTime{5};
constexpr std::size_t kMostStrangers = 256;
constexpr int kAcceptsInARow = 64;
// Before the next try, where the kernel refused something.
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::seconds kFarewellTime{2};
// A wait that ends so much later was not a wait: this process was stopped, or got no core.
constexpr std::chrono::seconds kDelay{1};

int milliseconds_until(std::chrono::steady_clock::time_point when) {
  const std::chrono::duration<double, std::milli> left = when - std::chrono::steady_clock::now();
  return std::max(0, static_cast<int>(left.count()) + 1);
}

}  // namespace

Hub::Hub(Listeners listeners, int size, std::string secret, double patience_seconds)
    : size_(size),
      secret_(std::move(secret)),
      patience_(patience_seconds),
      listeners_(std::move(listeners)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      members_(static_cast<std::size_t>(size)) {
  if (wake_ < 0) throw Error(fmt::format("no eventfd for the hub: {}", std::strerror(errno)));
  for (const Socket& each : listeners_.sockets) fcntl(each.descriptor(), F_SETFL, O_NONBLOCK);
  for (int i = 0; i < size; ++i) {
    members_[static_cast<std::size_t>(i)].name = fmt::format("process {} of {}", i, size);
  }
  try {
    thread_ = start_thread("the hub's thread", [this] { serve(); });
  } catch (...) {
    close(wake_);
    throw;
  }
}

Hub::~Hub() {
  const std::uint64_t one = 1;
  if (write(wake_, &one, sizeof one) == sizeof one) thread_.join();
  close(wake_);
}

void Hub::serve() {
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = serve_once();
    } catch (const std::exception&) {
      std::this_thread::sleep_for(kPause);  // there is no memory left
    }
  }
  tell_all({"ended", members_.front().name + " has ended"});
  say_farewell();
}

// False when the hub shall end.
bool Hub::serve_once() {
  const bool accepts = Clock::now() >= accept_from_;
  std::vector<pollfd> all{{wake_, POLLIN, 0}};
  for (const Socket& each : listeners_.sockets) {
    all.push_back({accepts ? each.descriptor() : -1, POLLIN, 0});
  }
  for (const Member& each : members_) {
    all.push_back({each.connection.descriptor(), each.connection.events(), 0});
  }
  for (const Stranger& each : strangers_) {
    all.push_back({each.connection.descriptor(), each.connection.events(), 0});
  }
  const int limit = milliseconds_left();
  const auto due = Clock::now() + std::chrono::milliseconds(limit);
  if (poll(all.data(), all.size(), limit) < 0 && errno != EINTR) {
    throw Error("poll() failed");
  }
  if (limit >= 0) allow_for_delay(due);
  if (all[0].revents != 0) return false;
  const pollfd* ready = all.data() + 1 + listeners_.sockets.size();
  for (Member& member : members_) serve_member(member, (ready++)->revents);
  for (std::size_t i = 0; i < strangers_.size(); ++ready) {
    const bool stays =
        ready->revents == 0 ? Clock::now() < strangers_[i].until : serve_stranger(strangers_[i]);
    if (stays) {
      ++i;
    } else {
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (std::size_t i = 0; i < listeners_.sockets.size(); ++i) {
    if (all[1 + i].revents != 0) accept_all(listeners_.sockets[i]);
  }
  give_up_on_silent();
  return true;
}

// Until somebody has been silent for too long; -1: nobody is asked, and nobody unknown is here.
int Hub::milliseconds_left() const {
  std::optional<Clock::time_point> first;
  const auto consider = [&](Clock::time_point when) {
    if (!first || when < *first) first = when;
  };
  for (const Member& member : members_) {
    if (!member.connection.open() || !member.asked) continue;
    consider(*member.asked + std::chrono::duration_cast<Clock::duration>(patience_));
  }
  if (!strangers_.empty()) consider(strangers_.front().until);
  if (accept_from_ > Clock::now()) consider(accept_from_);
  return first ? milliseconds_until(*first) : -1;
}

// While this process was stopped, nobody's answer could be read.
void Hub::allow_for_delay(Clock::time_point due) {
  const auto now = Clock::now();
  if (now - due < kDelay) return;
  for (Member& member : members_) {
    if (member.asked) member.asked = now;
  }
}

void Hub::accept_all(const Socket& listener) {
  for (int i = 0; i < kAcceptsInARow; ++i) {
    Socket socket = listener.accept();
    if (!socket.open()) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Most often there is no descriptor left, which ends as soon as somebody gives one back.
      accept_trouble_ = std::strerror(errno);
      accept_from_ = Clock::now() + kPause;
      if (!strangers_.empty()) strangers_.pop_front();
      return;
    }
    accept_trouble_.clear();
    if (strangers_.size() == kMostStrangers) strangers_.pop_front();
    strangers_.push_back({Connection(std::move(socket), kLongestGreeting), Challenge(secret_),
                          Clock::now() + kHelloTime});
    strangers_.back().connection.send(strangers_.back().challenge.frame());
  }
}

// False: it has come in, or goes.
bool Hub::serve_stranger(Stranger& stranger) {
  try {
    if (!stranger.connection.read()) return false;
    if (const auto frame = stranger.connection.next()) {
      greet(stranger, *frame);
      return false;
    }
  } catch (const std::exception&) {
    return false;  // whoever does not begin as this run's processes do gets no answer
  }
  return Clock::now() < stranger.until;
}

void Hub::greet(Stranger& stranger, const Frame& frame) {
  const auto hello = Challenge::understood(frame);
  if (!hello) return;
  const std::string reason = refusal(stranger, frame, *hello);
  if (!reason.empty()) return stranger.connection.send({"wrong", reason});
  Member& member = members_[static_cast<std::size_t>(hello->index)];
  member.connection = std::move(stranger.connection);
  member.connection.allow(kLongestPart + kLongestGreeting);
  member.name = hello->name;
  member.connection.send(stranger.challenge.welcome(frame));
  for (const Frame& farewell : farewells_) member.connection.send(farewell);
}

std::string Hub::refusal(const Stranger& stranger, const Frame& frame, const Hello& hello) const {
  if (!stranger.challenge.proven(frame)) {
    return "expected this run's secret: another run listens there, or DUET_TOKEN is not the same "
           "in all processes";
  }
  if (secret_.empty() && !peer_is_this_user(stranger.connection.descriptor())) {
    return "expected a process of the user whose process 0 is, or DUET_TOKEN in all processes";
  }
  if (hello.size != size_) {
    return fmt::format("expected the number of processes that process 0 has, {}, not {}", size_,
                       hello.size);
  }
  if (hello.index < 0 || hello.index >= size_) {
    return fmt::format("expected a process from 0 to {}, not {}", size_ - 1, hello.index);
  }
  const Member& member = members_[static_cast<std::size_t>(hello.index)];
  if (!member.connection.open() && !member.ended) return "";
  return fmt::format("expected every process to have a number of its own: {} is there as {}",
                     hello.index, member.name);
}

void Hub::serve_member(Member& member, short ready) {
  if (ready == 0 || !member.connection.open()) return;
  try {
    // Who takes much over a slow line is not silent.
    if ((ready & POLLOUT) != 0 && member.connection.flush() && member.asked) {
      member.asked = Clock::now();
    }
    if ((ready & ~POLLOUT) == 0) return;
    if (!member.connection.read()) return leave(member, "gone", member.name + " is gone");
    member.asked.reset();
    while (member.connection.open()) {
      const auto frame = member.connection.next();
      if (!frame) return;
      take(member, *frame);
    }
  } catch (const std::exception& error) {  // no process of this program sends such a frame
    leave(member, "gone", fmt::format("{} is not understood: {}", member.name, error.what()));
  }
}

void Hub::take(Member& member, const Frame& frame) {
  const std::string& kind = frame.at(0);
  if (kind == "gather") {
    gather(static_cast<int>(&member - members_.data()), frame);
  } else if (kind == "name") {
    member.name = frame.at(1);
  } else if (kind == "who") {
    member.connection.send({"who", missing({std::stol(frame.at(1)), std::stol(frame.at(2))})});
  } else if (kind == "fail") {
    tell_all({"fail", frame.at(1), frame.at(2)});
  } else if (kind == "call") {
    member.connection.send({"here"});
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
    if (!member.connection.open() || member.asked) continue;
    member.asked = Clock::now();
    member.connection.send({"call"});
  }
}

void Hub::give_up_on_silent() {
  for (Member& member : members_) {
    const bool asked = member.connection.open() && member.asked;
    if (!asked || Clock::now() < *member.asked + patience_) continue;
    leave(member, "gone",
          fmt::format("{} has not answered for {:.3g} s and counts as gone", member.name,
                      patience_.count()));
  }
}

void Hub::leave(Member& member, const char* kind, const std::string& text) {
  member.connection = Connection();
  member.ended = true;
  farewells_.push_back({kind, text});
  tell_all(farewells_.back());
}

std::string Hub::missing(const Round& round) const {
  std::string text;
  bool all_came = true;
  const auto found = gatherings_.find(round);
  for (int i = 0; i < size_; ++i) {
    if (found != gatherings_.end() && found->second.parts.count(i) > 0) continue;
    const Member& member = members_[static_cast<std::size_t>(i)];
    const bool came = member.connection.open();
    text +=
        (text.empty() ? "" : ", ") + member.name + (came ? " has not come" : " has not connected");
    all_came = all_came && came;
  }
  if (all_came) return text;
  text += fmt::format("; process 0 listens at {}", listeners_.place);
  if (!accept_trouble_.empty()) {
    text += fmt::format(", but cannot take a connection: {}", accept_trouble_);
  }
  return text;
}

void Hub::tell_all(const Frame& frame) {
  const auto packed = std::make_shared<const std::string>(packed_frame(frame));
  for (Member& member : members_) member.connection.send(packed);
}

// What has been said reaches those who listen.
void Hub::say_farewell() {
  const auto end = Clock::now() + kFarewellTime;
  for (;;) {
    std::vector<pollfd> sending;
    for (Member& member : members_) {
      member.connection.flush();
      if (!member.connection.sending()) continue;
      sending.push_back({member.connection.descriptor(), POLLOUT, 0});
    }
    if (sending.empty() || Clock::now() >= end) return;
    if (poll(sending.data(), sending.size(), milliseconds_until(end)) < 0 && errno != EINTR) return;
  }
}

}  // namespace duet
