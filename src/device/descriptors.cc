// Descriptors are sent over a socket in the abstract name space, which leaves no file behind. Where
// the socket cannot be reached, pidfd_getfd() copies the descriptor, if the kernel permits this.
#include "device/descriptors.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/thread.h"

namespace duet {
namespace {

constexpr int kSeconds = 5;  // timeout of each socket call
constexpr std::size_t kLongestLoan = 100;
constexpr std::size_t kLongestTail = 8;  // longest part of a socket's name after the process id
constexpr std::size_t kMostAsking = 64;
constexpr int kPauseMilliseconds = 100;

std::string prefix_of(int process) { return fmt::format("duet-{}-", process); }

int unix_socket() {
  const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const timeval limit{kSeconds, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return descriptor;
}

void limit_receiving(int descriptor) {
  const timeval limit{kSeconds, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

// The address of a name in the abstract name space, which begins with a zero byte.
socklen_t address_of(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// Whether the other end of the connection belongs to this user and to `process` (0: to any
// process).
bool is_of(int connection, int process) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid() && (process == 0 || peer.pid == process);
}

union Control {
  cmsghdr header;  // gives the union its alignment
  char room[CMSG_SPACE(sizeof(int))];
};

void send_descriptor(int connection, int descriptor) {
  char byte = 0;
  iovec data{&byte, 1};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.room;
  message.msg_controllen = sizeof control.room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

struct Answer {
  int descriptor = -1;
  bool final = false;  // the other method cannot succeed either
  std::string trouble;
};

Answer receive_descriptor(int connection) {
  char byte = 0;
  iovec data{&byte, 1};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.room;
  message.msg_controllen = sizeof control.room;
  const ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (got < 0) {
    return {-1, false,
            fmt::format("no answer within {} s (no descriptor may be left there: ulimit -n)",
                        kSeconds)};
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (got == 1 && (message.msg_flags & MSG_CTRUNC) != 0) {
    return {-1, true, "no descriptor is left here (ulimit -n)"};
  }
  if (got != 1 || header == nullptr || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return {-1, true, "it no longer lends this memory"};
  }
  Answer answer;
  std::memcpy(&answer.descriptor, CMSG_DATA(header), sizeof answer.descriptor);
  return answer;
}

Answer ask(int process, const std::string& name, const std::string& loan) {
  const int connection = unix_socket();
  if (connection < 0) return {-1, true, std::strerror(errno)};
  limit_receiving(connection);
  sockaddr_un address{};
  const socklen_t length = address_of(name, address);
  Answer answer{-1, false, "its socket cannot be reached"};
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      is_of(connection, process) && send(connection, loan.data(), loan.size(), MSG_NOSIGNAL) > 0) {
    answer = receive_descriptor(connection);
  }
  close(connection);
  return answer;
}

int copy_by_kernel(int process, int descriptor) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) return -1;
  const int copy = static_cast<int>(syscall(__NR_pidfd_getfd, handle, descriptor, 0));
  const int error = errno;
  close(handle);
  errno = error;
  return copy;
}

}  // namespace

DescriptorServer& DescriptorServer::instance() {
  static DescriptorServer server;
  return server;
}

DescriptorServer::DescriptorServer()
    : name_(fmt::format("{}{:x}", prefix_of(getpid()), std::random_device{}())) {
  listener_ = unix_socket();
  sockaddr_un address{};
  const socklen_t length = address_of(name_, address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener_, SOMAXCONN) != 0) {
    const int error = errno;
    close(listener_);
    throw Unavailable(fmt::format("no socket to export memory through: {}", std::strerror(error)));
  }
  try {
    thread_ = start_thread("the thread that lends memory", [this] { serve(); });
  } catch (...) {
    close(listener_);
    throw;
  }
}

DescriptorServer::~DescriptorServer() {
  ends_ = true;
  shutdown(listener_, SHUT_RDWR);  // makes poll() return
  thread_.join();
  close(listener_);
  for (const auto& [name, loan] : lent_) close(loan.descriptor);
}

std::string DescriptorServer::lend(int descriptor, const std::vector<int>& to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string loan = fmt::format("{} {}", descriptor, name_);
  lent_[loan] = {descriptor, to};
  return loan;
}

void DescriptorServer::take_back(const std::string& loan) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = lent_.find(loan);
  if (found == lent_.end()) return;
  close(found->second.descriptor);
  lent_.erase(found);
}

void DescriptorServer::close_in_child() noexcept {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock) return;
  for (const auto& [name, loan] : lent_) close(loan.descriptor);
  lent_.clear();
  close(listener_);
}

void DescriptorServer::serve() {
  std::deque<int> asking;  // open connections, the oldest first
  for (bool accepts = true; !ends_;) {
    std::vector<pollfd> all{{accepts ? listener_ : -1, POLLIN, 0}};
    for (const int connection : asking) all.push_back({connection, POLLIN, 0});
    if (poll(all.data(), all.size(), accepts ? -1 : kPauseMilliseconds) < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMilliseconds));
      continue;
    }
    for (std::size_t i = all.size(); i-- > 1;) {
      if (all[i].revents == 0) continue;
      answer(all[i].fd);
      close(all[i].fd);
      asking.erase(asking.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    accepts = all[0].revents == 0 || accept_one(asking);
  }
  for (const int connection : asking) close(connection);
}

bool DescriptorServer::accept_one(std::deque<int>& asking) {
  const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return errno == EINTR || errno == ECONNABORTED || errno == EAGAIN;
  if (!is_of(connection, 0)) {
    close(connection);
    return true;
  }
  // A client sends its request at once. With this many open connections the oldest one sends
  // nothing, so it is closed.
  if (asking.size() == kMostAsking) {
    close(asking.front());
    asking.pop_front();
  }
  asking.push_back(connection);
  return true;
}

void DescriptorServer::answer(int connection) {
  char loan[kLongestLoan];
  const ssize_t length = recv(connection, loan, sizeof loan, 0);
  if (length <= 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = lent_.find(std::string(loan, static_cast<std::size_t>(length)));
  if (found == lent_.end()) return;
  const std::vector<int>& to = found->second.to;
  const bool is_meant = to.empty() || std::any_of(to.begin(), to.end(), [connection](int process) {
                          return is_of(connection, process);
                        });
  if (is_meant) send_descriptor(connection, found->second.descriptor);
}

int descriptor_number(const std::string& text) {
  int number = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 0) {
    throw Unavailable("memory of another process: expected a descriptor's number");
  }
  return number;
}

int borrow(int process, const std::string& loan) {
  const std::size_t blank = loan.find(' ');
  if (blank == std::string::npos) throw Unavailable("the descriptor names no socket");
  const int number = descriptor_number(loan.substr(0, blank));
  const std::string name = loan.substr(blank + 1);
  const std::string prefix = prefix_of(process);
  if (name.size() > prefix.size() + kLongestTail || name.compare(0, prefix.size(), prefix) != 0 ||
      name.find_first_not_of("0123456789abcdef", prefix.size()) != std::string::npos) {
    throw Unavailable(fmt::format("memory of process {} is not exported by its socket", process));
  }
  const Answer answer = ask(process, name, loan);
  if (answer.descriptor >= 0) return answer.descriptor;
  const int copy = answer.final ? -1 : copy_by_kernel(process, number);
  if (copy >= 0) return copy;
  throw Unavailable(fmt::format("process {} cannot export its memory: {}{}", process,
                                answer.trouble,
                                answer.final ? "" : fmt::format("; {}", std::strerror(errno))));
}

}  // namespace duet
