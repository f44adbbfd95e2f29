#include "team/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "core/packing.h"

namespace duet {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr int kReadsInARow = 16;
constexpr std::size_t kMostWaiting = 4096;  // frames
constexpr std::size_t kSpareBytes = 1 << 20;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

short Connection::events() const {
  return static_cast<short>((waiting_.size() < kMostWaiting ? POLLIN : 0) |
                            (sending() ? POLLOUT : 0));
}

std::optional<std::size_t> Connection::read() {
  std::array<char, kReadBytes> bytes;
  std::size_t all = 0;
  for (int i = 0; i < kReadsInARow; ++i) {
    const ssize_t got = recv(descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && would_block()) break;
    if (got <= 0)
      return all > 0 ? std::optional(all) : std::nullopt;  // the next read() returns nothing
    received_.append(bytes.data(), static_cast<std::size_t>(got));
    all += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < bytes.size()) break;
  }
  return all;
}

std::optional<Frame> Connection::next() {
  std::uint64_t length = 0;
  const std::size_t here = received_.size() - taken_;
  if (here >= sizeof length) {
    std::memcpy(&length, received_.data() + taken_, sizeof length);
    if (length > most_) {
      throw Error(fmt::format("a frame of {} bytes, of {} at most", length, most_));
    }
    if (here - sizeof length >= length) {
      Frame frame = unpack(received_.substr(taken_ + sizeof length, length));
      taken_ += sizeof length + length;
      return frame;
    }
  }
  received_.erase(0, taken_);
  taken_ = 0;
  if (received_.empty() && received_.capacity() > kSpareBytes) received_.shrink_to_fit();
  return std::nullopt;
}

void Connection::send(const Packed& packed) {
  if (!open()) return;
  if (waiting_.empty()) sent_ = 0;
  waiting_.push_back(packed);
  if (waiting_.size() == 1) flush();
}

void Connection::send(const Frame& frame) {
  send(std::make_shared<const std::string>(packed_frame(frame)));
}

// An end that is gone is noticed by read().
bool Connection::flush() {
  bool taken = false;
  while (sending()) {
    const std::string& first = *waiting_.front();
    const ssize_t sent = ::send(descriptor(), first.data() + sent_, first.size() - sent_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && would_block()) return taken;
    if (sent < 0) waiting_.clear();
    if (sent < 0) return false;
    taken = true;
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < first.size()) continue;
    waiting_.pop_front();
    sent_ = 0;
  }
  return taken;
}

}  // namespace duet
