// Descriptors through a socket in the abstract name space, which leaves no file behind. Where the
// socket cannot be reached, the kernel copies the descriptor itself, if it lets this process look
// into the other.
#include "device/descriptors.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>

#include "core/error.h"

namespace duet {
namespace {

constexpr int kSeconds = 5;  // for any one call
constexpr std::size_t kLongestLoan = 100;

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

// The name stands behind a zero byte.
socklen_t address_of(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool same_user(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid();
}

union Control {
  cmsghdr header;  // for its alignment
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
  sendmsg(connection, &message, MSG_NOSIGNAL);
}

int receive_descriptor(int connection) {
  char byte = 0;
  iovec data{&byte, 1};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.room;
  message.msg_controllen = sizeof control.room;
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

// Nothing where the socket cannot be reached, -1 where the loan is not there.
std::optional<int> ask(const std::string& name, const std::string& loan) {
  const int connection = unix_socket();
  limit_receiving(connection);
  sockaddr_un address{};
  const socklen_t length = address_of(name, address);
  std::optional<int> descriptor;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      send(connection, loan.data(), loan.size(), MSG_NOSIGNAL) > 0) {
    descriptor = receive_descriptor(connection);
  }
  close(connection);
  return descriptor;
}

int copy_by_kernel(int process, int descriptor) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) return -1;
  const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, handle, descriptor, 0));
  const int error = errno;
  close(handle);
  errno = error;
  return copy;
}

}  // namespace

Lender& Lender::instance() {
  static Lender lender;
  return lender;
}

Lender::Lender() : name_(fmt::format("duet-{}-{:x}", getpid(), std::random_device{}())) {
  listener_ = unix_socket();
  sockaddr_un address{};
  const socklen_t length = address_of(name_, address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener_, SOMAXCONN) != 0) {
    const int error = errno;
    close(listener_);
    throw Unavailable(fmt::format("no socket to lend memory by: {}", std::strerror(error)));
  }
  thread_ = std::thread([this] { serve(); });
}

Lender::~Lender() {
  shutdown(listener_, SHUT_RDWR);  // accept() returns
  thread_.join();
  close(listener_);
  for (const auto& [loan, descriptor] : lent_) close(descriptor);
}

std::string Lender::lend(int descriptor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string loan = fmt::format("{} {}", descriptor, name_);
  lent_[loan] = descriptor;
  return loan;
}

void Lender::take_back(const std::string& loan) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = lent_.find(loan);
  if (found == lent_.end()) return;
  close(found->second);
  lent_.erase(found);
}

void Lender::serve() {
  for (;;) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0 && errno == EINTR) continue;
    if (connection < 0) return;
    limit_receiving(connection);
    if (same_user(connection)) answer(connection);
    close(connection);
  }
}

void Lender::answer(int connection) {
  char loan[kLongestLoan];
  const ssize_t length = recv(connection, loan, sizeof loan, 0);
  if (length <= 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = lent_.find(std::string(loan, static_cast<std::size_t>(length)));
  if (found != lent_.end()) send_descriptor(connection, found->second);
}

int borrow(int process, const std::string& loan) {
  const std::size_t blank = loan.find(' ');
  if (blank == std::string::npos) throw Unavailable("memory is lent by no socket");
  const std::optional<int> lent = ask(loan.substr(blank + 1), loan);
  if (lent && *lent < 0) {
    throw Unavailable(fmt::format("process {} no longer lends this memory", process));
  }
  const int descriptor = lent ? *lent : copy_by_kernel(process, std::stoi(loan));
  if (descriptor >= 0) return descriptor;
  throw Unavailable(
      fmt::format("process {} cannot lend its memory: {}", process, std::strerror(errno)));
}

}  // namespace duet
