// By the kernel's socket table (sock_diag), which has the owner of the socket at the other end.
#include "team/peer_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

namespace duet {
namespace {

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
