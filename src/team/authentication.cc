#include "team/authentication.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/packing.h"
#include "team/secret.h"

namespace duet {
namespace {

// The fields of a hello frame.
enum : std::size_t { kKind, kIndex, kSize, kName, kNonce, kProof, kFields };

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
}

// Text from an unauthenticated connection may be printed on a terminal.
std::string plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return text;
}

std::string process_proof(const std::string& secret, const std::string& nonce, const Frame& hello) {
  return proof_of(
      secret, pack({"process", nonce, hello[kIndex], hello[kSize], hello[kName], hello[kNonce]}));
}

std::string hub_proof(const std::string& secret, const std::string& nonce, const Frame& hello) {
  return proof_of(secret, pack({"hub", nonce, hello[kNonce]}));
}

struct Query {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

struct End {
  int family = AF_UNSPEC;
  std::uint16_t port = 0;  // in the network's order, as the address
  std::array<std::uint32_t, 4> address{};
};

// An IPv4 address stays one where the socket is of IPv6.
End end_of(const sockaddr_storage& from) {
  End end;
  if (from.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &from, sizeof four);
    end.family = AF_INET;
    end.port = four.sin_port;
    end.address[0] = four.sin_addr.s_addr;
  } else if (from.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &from, sizeof six);
    end.port = six.sin6_port;
    end.family = IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) ? AF_INET : AF_INET6;
    const unsigned char* bytes = six.sin6_addr.s6_addr;
    if (end.family == AF_INET) {
      std::memcpy(end.address.data(), bytes + 12, 4);
    } else {
      std::memcpy(end.address.data(), bytes, 16);
    }
  }
  return end;
}

// For the socket whose own end is `peer` and whose other end is `own`.
Query query_for(const End& peer, const End& own) {
  Query query{};
  query.header.nlmsg_len = sizeof query;
  query.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.header.nlmsg_flags = NLM_F_REQUEST;
  query.request.sdiag_family = static_cast<__u8>(peer.family);
  query.request.sdiag_protocol = IPPROTO_TCP;
  query.request.idiag_states = ~0u;
  query.request.id.idiag_sport = peer.port;
  query.request.id.idiag_dport = own.port;
  std::memcpy(query.request.id.idiag_src, peer.address.data(), sizeof peer.address);
  std::memcpy(query.request.id.idiag_dst, own.address.data(), sizeof own.address);
  query.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  query.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return query;
}

// Nothing if the kernel does not answer. A socket that no process holds belongs to no user.
std::optional<bool> is_this_users(int netlink, const Query& query) {
  const timeval limit{1, 0};
  setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (send(netlink, &query, sizeof query, 0) != static_cast<ssize_t>(sizeof query)) return {};
  struct {
    nlmsghdr header;
    union {
      nlmsgerr error;
      inet_diag_msg socket;
    };
    char attributes[1024];
  } answer{};
  const ssize_t got = recv(netlink, &answer, sizeof answer, 0);
  if (got < static_cast<ssize_t>(sizeof answer.header)) return {};
  if (answer.header.nlmsg_type == NLMSG_ERROR) {
    if (answer.error.error == -ENOENT) return false;
    return {};
  }
  if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return {};
  return answer.socket.idiag_inode != 0 && answer.socket.idiag_uid == geteuid();
}

}  // namespace

Challenge::Challenge(std::string secret) : secret_(std::move(secret)), nonce_(make_secret()) {}

std::optional<Hello> Challenge::understood(const Frame& hello) {
  if (hello.size() != kFields || hello[kKind] != "hello") return std::nullopt;
  const auto index = whole_number(hello[kIndex]);
  const auto size = whole_number(hello[kSize]);
  if (!index || !size) return std::nullopt;
  return Hello{*index, *size, plain(hello[kName])};
}

bool Challenge::proven(const Frame& hello) const {
  return equal_proofs(hello[kProof], process_proof(secret_, nonce_, hello));
}

Frame Challenge::welcome(const Frame& hello) const {
  return {"welcome", hub_proof(secret_, nonce_, hello)};
}

Frame hello_frame(const std::string& secret, const std::string& nonce, const Hello& hello) {
  Frame frame{"hello", std::to_string(hello.index), std::to_string(hello.size), hello.name,
              make_secret()};
  frame.push_back(process_proof(secret, nonce, frame));
  return frame;
}

Joined join(const Socket& socket, const std::string& secret, const Hello& hello, double seconds) {
  const auto challenge = socket.receive_within(seconds, kMaxHandshakeBytes);
  if (!challenge || challenge->size() != 2 || challenge->front() != "challenge") {
    return {false, "", "who listens there does not greet as process 0 of a run does"};
  }
  if (secret.empty() && !peer_is_this_user(socket.descriptor())) {
    return {false, "another user listens there: expected DUET_TOKEN in all processes", ""};
  }
  const std::string& nonce = challenge->at(1);
  const Frame answer = hello_frame(secret, nonce, hello);
  socket.send(answer);
  const auto reply = socket.receive_within(seconds, kMaxHandshakeBytes);
  if (!reply || reply->size() != 2) return {false, "", "process 0 closed the connection"};
  if (reply->front() == "wrong") return {false, plain(reply->at(1)), ""};
  if (reply->front() != "welcome" ||
      !equal_proofs(reply->at(1), hub_proof(secret, nonce, answer))) {
    return {false, "who listens there does not know the run's secret (DUET_TOKEN)", ""};
  }
  return {true, "", ""};
}

// By the kernel's socket table (sock_diag), which has the owner of the socket at the other end.

bool peer_is_this_user(int descriptor) {
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, peer_length = sizeof peer;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_length) != 0 ||
      getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0) {
    return false;
  }
  const int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return true;
  const auto known = is_this_users(netlink, query_for(end_of(peer), end_of(own)));
  close(netlink);
  return known.value_or(true);
}

}  // namespace duet
