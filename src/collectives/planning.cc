// Buffers that fit, ranks that agree, and plans of all ranks or of none.
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

// What all ranks bring beside the collective, which is one.
std::vector<std::string> requests_of(const std::vector<std::string>& all) {
  std::vector<std::string> requests;
  const std::string first = all.front().substr(0, all.front().find('\n'));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::size_t end = all[rank].find('\n');
    const std::string theirs = all[rank].substr(0, end);
    if (theirs != first) {
      throw BadArgument(fmt::format("ranks ask for different things: rank 0 for {}, rank {} for {}",
                                    first, rank, theirs));
    }
    requests.push_back(all[rank].substr(end + 1));
  }
  return requests;
}

Span used(const Rank& rank, CollectiveKind kind, const Span& span, std::uint64_t bytes,
          const char* what) {
  if (bytes == 0 || (span.bytes >= bytes && span.owner == &rank.device))
    return span.slice(0, bytes);
  const bool foreign = span.bytes > 0 && span.owner != &rank.device;
  throw BadArgument(fmt::format("{}: {} buffer: expected {} bytes of {}, not {}{}", name(kind),
                                what, bytes, rank.device.info().name, span.bytes,
                                foreign ? " of another device" : ""));
}

// In place is one place alone: what a rank still has to send, or has received, would be overwritten
// in any other.
void check_overlap(const Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
  if (!in_place(buffers)) return;
  if (!has_in_place(c.kind)) {
    throw BadArgument(fmt::format("{}: expected buffers that do not overlap", name(c.kind)));
  }
  const bool in_send =
      c.kind == CollectiveKind::reduce_scatter || c.kind == CollectiveKind::scatter;
  const Span &inner = in_send ? buffers.recv : buffers.send,
             &outer = in_send ? buffers.send : buffers.recv;
  const auto expected = static_cast<std::ptrdiff_t>(in_place_offset(c, rank.index));
  const std::ptrdiff_t offset = inner.data - outer.data;
  if (offset == expected) return;
  throw BadArgument(fmt::format(
      "{}: expected buffers that do not overlap or, in place, the {} buffer at byte {} of the {} "
      "buffer, not at {}",
      name(c.kind), in_send ? "receive" : "send", expected, in_send ? "send" : "receive", offset));
}

}  // namespace

CollectiveBuffers checked_buffers(const Rank& rank, const Collective& collective,
                                  const CollectiveBuffers& buffers) {
  check(collective, rank.size);
  const std::uint64_t sent = send_bytes(collective, rank.index, rank.size);
  const std::uint64_t received = recv_bytes(collective, rank.index, rank.size);
  const CollectiveBuffers own{used(rank, collective.kind, buffers.send, sent, "send"),
                              used(rank, collective.kind, buffers.recv, received, "receive")};
  check_overlap(rank, collective, own);
  return own;
}

bool in_place(const CollectiveBuffers& buffers) {
  const Span &a = buffers.send, &b = buffers.recv;
  return a.bytes > 0 && b.bytes > 0 && a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

Team::Gathered agree(Rank& rank, const Collective& collective, const Team::Make& make,
                     double deadline_seconds) {
  const Team::Make bring = [&] { return in_words(collective) + '\n' + make(); };
  return rank.team.gather_as<std::vector<std::string>>(
      rank, bring, "all ranks to plan a collective", requests_of, deadline_seconds);
}

std::unique_ptr<CollectivePlan> CollectiveSession::plan(Rank& rank, const Collective& collective,
                                                        const CollectiveBuffers& buffers) {
  std::unique_ptr<CollectivePlan> made;
  rank.team.all_or_none(rank, "all ranks to have planned a collective", [&] {
    CollectiveBuffers own;
    const auto requests = agree(rank, collective, [&] {
      own = checked_buffers(rank, collective, buffers);
      if (const auto skipped = unsupported(collective, in_place(own))) {
        throw Unavailable(fmt::format("{}: {}", name(collective.kind), skipped->reason));
      }
      return request(rank, collective, own);
    });
    made = make_plan(rank, collective, own, *requests);
  });
  return made;
}

}  // namespace duet
