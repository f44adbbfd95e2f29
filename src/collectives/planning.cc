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

std::vector<std::string> agree(Rank& rank, const Collective& collective, const std::string& mine,
                               double deadline_seconds) {
  const std::string words = in_words(collective);
  std::vector<std::string> all = rank.team.gather(
      rank, words + '\n' + mine, fmt::format("all ranks to plan {}", name(collective.kind)),
      deadline_seconds);
  const std::string first = all.front().substr(0, all.front().find('\n'));
  for (std::size_t other = 0; other < all.size(); ++other) {
    const std::size_t end = all[other].find('\n');
    const std::string theirs = all[other].substr(0, end);
    if (theirs != first) {
      throw BadArgument(fmt::format("ranks ask for different things: rank 0 for {}, rank {} for {}",
                                    first, other, theirs));
    }
    all[other].erase(0, end + 1);
  }
  return all;
}

}  // namespace duet
