#include "copy/transfer.h"

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<CopyKind> kKinds[] = {{CopyKind::peer, "peer"},
                                           {CopyKind::local, "local"},
                                           {CopyKind::host_to_device, "host_to_device"},
                                           {CopyKind::device_to_host, "device_to_host"}};
constexpr NamedValue<Issue> kIssues[] = {{Issue::push, "push"}, {Issue::pull, "pull"}};
constexpr NamedValue<Pattern> kPatterns[] = {{Pattern::pair, "pair"},
                                             {Pattern::all_pairs, "all_pairs"}};

Transfer transfer(Endpoint source, Endpoint destination, const CopyShape& shape,
                  std::uint64_t bytes) {
  const int issuer = shape.issue == Issue::push ? source.rank : destination.rank;
  return {source, destination, issuer, bytes, shape.executor, shape.kernel};
}

}  // namespace

std::string_view name(CopyKind kind) { return name_of(kKinds, kind); }
CopyKind parse_copy_kind(std::string_view text) {
  return parse_name(kKinds, "unknown kind of copy", text);
}
std::string_view name(Issue issue) { return name_of(kIssues, issue); }
Issue parse_issue(std::string_view text) { return parse_name(kIssues, "unknown issue", text); }
std::string_view name(Pattern pattern) { return name_of(kPatterns, pattern); }
Pattern parse_pattern(std::string_view text) {
  return parse_name(kPatterns, "unknown pattern", text);
}

bool is_local(const Transfer& transfer) {
  return transfer.source.rank == transfer.destination.rank &&
         transfer.source.memory == MemoryKind::device &&
         transfer.destination.memory == MemoryKind::device;
}

std::vector<Transfer> transfers(const CopyShape& shape, std::uint64_t bytes, int ranks) {
  std::vector<Transfer> list;
  if (shape.pattern == Pattern::pair) {
    list.push_back(transfer(shape.source, shape.destination, shape, bytes));
    if (shape.bidirectional) {
      list.push_back(transfer(shape.destination, shape.source, shape, bytes));
    }
    return list;
  }
  // In rotated order, so that in each step every device sends to one device and receives from one.
  for (int step = 1; step < ranks; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Endpoint from{rank, MemoryKind::device};
      const Endpoint to{(rank + step) % ranks, MemoryKind::device};
      list.push_back(transfer(from, to, shape, bytes));
    }
  }
  return list;
}

}  // namespace duet
