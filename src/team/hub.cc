// The hub's thread sleeps in poll() until a connection is ready or a deadline passes, so that it
// takes no time from what is being measured.
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

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"
#include "team/authentication.h"

namespace duet {
namespace {

// A process answers the challenge at once, but many may connect at the same time.
constexpr std::chrono::seconds kHelloTime{5};
constexpr std::size_t kMaxPending = 256;
constexpr int kAcceptsInARow = 64;
// Before the next attempt after the kernel refused something.
constexpr std::chrono::milliseconds kRetryPause{100};
constexpr std::chrono::seconds kFlushTime{2};
// If poll() returns this much later than it should, this process was stopped or got no core.
constexpr std::chrono::seconds kHubHeldUp{1};

int milliseconds_until(SteadyClock::time_point when) {
  const std::chrono::duration<double, std::milli> left = when - SteadyClock::now();
  return std::max(0, static_cast<int>(left.count()) + 1);
}

// Less than the time between two probes of a process: then processes that all probe need no
// heartbeats besides, and one that stops gets one at the next probe of another.
SteadyClock::duration lately(std::chrono::duration<double> heartbeat_timeout) {
  return std::chrono::duration_cast<SteadyClock::duration>(heartbeat_timeout /
                                                           (2 * kProbesInTimeout));
}

}  // namespace

Hub::Hub(Listeners listeners, int size, std::string secret, double heartbeat_timeout_seconds)
    : size_(size),
      secret_(std::move(secret)),
      heartbeat_timeout_(heartbeat_timeout_seconds),
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
      std::this_thread::sleep_for(kRetryPause);  // out of memory
    }
  }
  send_all({"ended", members_.front().name + " has ended"});
  flush_all();
}

// False: the hub ends.
bool Hub::serve_once() {
  // One time for both: a pause that ends between two readings would be neither accepted after nor
  // waited for.
  const auto now = SteadyClock::now();
  const bool accepts = now >= accept_after_;
  std::vector<pollfd> all{{wake_, POLLIN, 0}};
  for (const Socket& each : listeners_.sockets) {
    all.push_back({accepts ? each.descriptor() : -1, POLLIN, 0});
  }
  for (const Member& each : members_) {
    all.push_back({each.connection.descriptor(), each.connection.events(), 0});
  }
  for (const PendingConnection& each : pending_) {
    all.push_back({each.connection.descriptor(), each.connection.events(), 0});
  }
  const int limit = milliseconds_left(now);
  const auto due = SteadyClock::now() + std::chrono::milliseconds(limit);
  if (poll(all.data(), all.size(), limit) < 0 && errno != EINTR) {
    throw Error("poll() failed");
  }
  if (limit >= 0) allow_for_delay(due);
  if (all[0].revents != 0) return false;
  const pollfd* ready = all.data() + 1 + listeners_.sockets.size();
  for (Member& member : members_) serve_member(member, (ready++)->revents);
  for (std::size_t i = 0; i < pending_.size(); ++ready) {
    const bool stays = ready->revents == 0 ? SteadyClock::now() < pending_[i].deadline
                                           : serve_pending(pending_[i]);
    if (stays) {
      ++i;
    } else {
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (std::size_t i = 0; i < listeners_.sockets.size(); ++i) {
    if (all[1 + i].revents != 0) accept_all(listeners_.sockets[i]);
  }
  remove_unresponsive();
  return true;
}

// Until the next deadline of a heartbeat, a pending connection or a retry after `now`; -1: there is
// none.
int Hub::milliseconds_left(SteadyClock::time_point now) const {
  std::optional<SteadyClock::time_point> first;
  const auto consider = [&](SteadyClock::time_point when) {
    if (!first || when < *first) first = when;
  };
  for (const Member& member : members_) {
    if (!member.connection.open() || !member.heartbeat_sent) continue;
    consider(*member.heartbeat_sent +
             std::chrono::duration_cast<SteadyClock::duration>(heartbeat_timeout_));
  }
  if (!pending_.empty()) consider(pending_.front().deadline);
  if (accept_after_ > now) consider(accept_after_);
  return first ? milliseconds_until(*first) : -1;
}

// While this process was stopped it could read no answer, so the heartbeat timeouts begin anew.
void Hub::allow_for_delay(SteadyClock::time_point due) {
  const auto now = SteadyClock::now();
  if (now - due < kHubHeldUp) return;
  for (Member& member : members_) {
    if (member.heartbeat_sent) member.heartbeat_sent = now;
  }
}

void Hub::accept_all(const Socket& listener) {
  for (int i = 0; i < kAcceptsInARow; ++i) {
    Socket socket = listener.accept();
    if (!socket.open()) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Most often the process has no descriptor left, until one is closed.
      accept_error_ = std::strerror(errno);
      accept_after_ = SteadyClock::now() + kRetryPause;
      if (!pending_.empty()) pending_.pop_front();
      return;
    }
    accept_error_.clear();
    if (pending_.size() == kMaxPending) pending_.pop_front();
    pending_.push_back({Connection(std::move(socket), kMaxHandshakeBytes), Challenge(secret_),
                        SteadyClock::now() + kHelloTime});
    pending_.back().connection.send(pending_.back().challenge.frame());
  }
}

// False: it has become a member, or is dropped.
bool Hub::serve_pending(PendingConnection& pending) {
  try {
    if (!pending.connection.read()) return false;
    if (const auto frame = pending.connection.next()) {
      handle_hello(pending, *frame);
      return false;
    }
  } catch (const std::exception&) {
    return false;  // not a process of this run: no answer
  }
  return SteadyClock::now() < pending.deadline;
}

void Hub::handle_hello(PendingConnection& pending, const Frame& frame) {
  const auto hello = Challenge::understood(frame);
  if (!hello) return;
  const std::string reason = refusal(pending, frame, *hello);
  if (!reason.empty()) return pending.connection.send({"wrong", reason});
  Member& member = members_[static_cast<std::size_t>(hello->index)];
  member.connection = std::move(pending.connection);
  member.connection.allow(kMaxGatherBytes + kMaxHandshakeBytes);
  member.name = hello->name;
  member.connection.send(pending.challenge.welcome(frame));
  for (const Frame& departure : departures_) member.connection.send(departure);
}

std::string Hub::refusal(const PendingConnection& pending, const Frame& frame,
                         const Hello& hello) const {
  if (!pending.challenge.proven(frame)) {
    return "expected this run's secret: another run listens there, or DUET_TOKEN is not the same "
           "in all processes";
  }
  if (secret_.empty() && !peer_is_this_user(pending.connection.descriptor())) {
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
    // A process that receives much over a slow line is alive.
    if ((ready & POLLOUT) != 0 && member.connection.flush() && member.heartbeat_sent) {
      member.heartbeat_sent = SteadyClock::now();
    }
    if ((ready & ~POLLOUT) == 0) return;
    if (!member.connection.read()) return remove(member, "gone", member.name + " is gone");
    member.heartbeat_sent.reset();
    member.heard = SteadyClock::now();
    while (member.connection.open()) {
      const auto frame = member.connection.next();
      if (!frame) return;
      handle_frame(member, *frame);
    }
  } catch (const std::exception& error) {  // this program sends no such frame
    remove(member, "gone", fmt::format("{} is not understood: {}", member.name, error.what()));
  }
}

void Hub::handle_frame(Member& member, const Frame& frame) {
  const std::string& kind = frame.at(0);
  if (kind == "gather") {
    gather(static_cast<int>(&member - members_.data()), frame);
  } else if (kind == "name") {
    member.name = frame.at(1);
  } else if (kind == "who") {
    member.connection.send({"who", missing({std::stol(frame.at(1)), std::stol(frame.at(2))})});
  } else if (kind == "fail" || kind == "decline") {
    send_all({kind, frame.at(1), frame.at(2)});
  } else if (kind == "heartbeat" || kind == "probe") {
    member.connection.send({"alive"});
    const auto now = SteadyClock::now();
    send_heartbeats(kind == "heartbeat" ? now : now - lately(heartbeat_timeout_));
  } else if (kind == "alive") {
    return;
  } else if (kind == "bye") {
    remove(member, "ended", member.name + " has ended");
  } else {
    throw Error(fmt::format("a frame '{}'", kind));
  }
}

void Hub::gather(int index, const Frame& frame) {
  const GatherId id{std::stol(frame.at(1)), std::stol(frame.at(2))};
  std::map<int, std::string>& parts = gathers_[id].parts;
  parts[index] = frame.at(3);
  if (static_cast<int>(parts.size()) < size_) return;
  Frame all{"all", frame.at(1), frame.at(2)};
  for (auto& [process, bytes] : parts) all.push_back(std::move(bytes));
  // All processes have passed earlier gathers; those of failed epochs may be incomplete.
  gathers_.erase(gathers_.begin(), gathers_.upper_bound(id));
  send_all(all);
}

// A process that is stopped, or whose machine is lost, keeps its connection: only a missing answer
// shows it.
void Hub::send_heartbeats(SteadyClock::time_point heard_before) {
  for (Member& member : members_) {
    if (!member.connection.open() || member.heartbeat_sent) continue;
    if (member.heard > heard_before) continue;
    member.heartbeat_sent = SteadyClock::now();
    member.connection.send({"heartbeat"});
  }
}

void Hub::remove_unresponsive() {
  for (Member& member : members_) {
    const bool waits_for_answer = member.connection.open() && member.heartbeat_sent;
    if (!waits_for_answer || SteadyClock::now() < *member.heartbeat_sent + heartbeat_timeout_)
      continue;
    remove(member, "gone",
           fmt::format("{} has not answered for {:.3g} s and counts as gone", member.name,
                       heartbeat_timeout_.count()));
  }
}

void Hub::remove(Member& member, const char* kind, const std::string& text) {
  member.connection = Connection();
  member.ended = true;
  departures_.push_back({kind, text});
  send_all(departures_.back());
}

std::string Hub::missing(const GatherId& id) const {
  std::string text;
  bool all_connected = true;
  const auto found = gathers_.find(id);
  for (int i = 0; i < size_; ++i) {
    if (found != gathers_.end() && found->second.parts.count(i) > 0) continue;
    const Member& member = members_[static_cast<std::size_t>(i)];
    const bool connected = member.connection.open();
    text += (text.empty() ? "" : ", ") + member.name +
            (connected ? " has not come" : " has not connected");
    all_connected = all_connected && connected;
  }
  if (all_connected) return text;
  text += fmt::format("; process 0 listens at {}", listeners_.place);
  if (!accept_error_.empty()) {
    text += fmt::format(", but cannot take a connection: {}", accept_error_);
  }
  return text;
}

void Hub::send_all(const Frame& frame) {
  const auto packed = std::make_shared<const std::string>(packed_frame(frame));
  for (Member& member : members_) member.connection.send(packed);
}

// Sends what is still queued, for kFlushTime at most.
void Hub::flush_all() {
  const auto end = SteadyClock::now() + kFlushTime;
  for (;;) {
    std::vector<pollfd> sending;
    for (Member& member : members_) {
      member.connection.flush();
      if (!member.connection.sending()) continue;
      sending.push_back({member.connection.descriptor(), POLLOUT, 0});
    }
    if (sending.empty() || SteadyClock::now() >= end) return;
    if (poll(sending.data(), sending.size(), milliseconds_until(end)) < 0 && errno != EINTR) return;
  }
}

}  // namespace duet
