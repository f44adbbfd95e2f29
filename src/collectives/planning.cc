// Buffers that fit, and ranks that agree.
#include "collectives/planning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace duet {
namespace {

// Without a line's end, which closes it in what ranks tell each other.
std::string in_words(const Collective& c) {
  return fmt::format("{} of {} x {}, {}, root {}, counts [{}]", name(c.kind), c.count,
                     name(c.dtype), name(c.op), c.root, fmt::join(c.counts, ","));
}

// What all ranks ask for, and the first difference in it.
struct Requests {
  std::vector<std::string> more;  // beside the collective
  std::string difference;
};

Requests requests_of(std::vector<std::string> all) {
  Requests requests;
  const std::string first = all.front().substr(0, all.front().find('\n'));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::size_t end = all[rank].find('\n');
    const std::string theirs = all[rank].substr(0, end);
    if (theirs != first && requests.difference.empty()) {
      requests.difference = fmt::format(
          "ranks ask for different things: rank 0 for {}, rank {} for {}", first, rank, theirs);
    }
    requests.more.push_back(all[rank].substr(end + 1));
  }
  return requests;
}

void require(const Rank& rank, CollectiveKind kind, const Span& span, std::uint64_t bytes,
             const char* what) {
  if (bytes == 0 || (span.bytes >= bytes && span.owner == &rank.device)) return;
  throw BadArgument(fmt::format("{}, {} buffer of rank {}: expected {} bytes of {}", name(kind),
                                what, rank.index, bytes, rank.device.info().name));
}

}  // namespace

void check_buffers(const Rank& rank, const Collective& collective,
                   const CollectiveBuffers& buffers) {
  require(rank, collective.kind, buffers.send, send_bytes(collective, rank.index, rank.size),
          "send");
  require(rank, collective.kind, buffers.recv, recv_bytes(collective, rank.index, rank.size),
          "receive");
}

bool in_place(const CollectiveBuffers& buffers) {
  const Span &a = buffers.send, &b = buffers.recv;
  return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

Team::Gathered agree(Rank& rank, const Collective& collective, const std::string& mine,
                     double deadline_seconds) {
  const auto requests = rank.team.gather_as<Requests>(
      rank, in_words(collective) + '\n' + mine,
      fmt::format("all ranks to plan {}", name(collective.kind)), requests_of, deadline_seconds);
  if (!requests->difference.empty()) throw BadArgument(requests->difference);
  return {requests, &requests->more};
}

}  // namespace duet
