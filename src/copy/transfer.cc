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

Transfer transfer(Endpoint source, Endpoint destination, Issue issue, std::uint64_t bytes) {
  return {source, destination, issue == Issue::push ? source.rank : destination.rank, bytes};
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

std::vector<Transfer> transfers(const CopyShape& shape, std::uint64_t bytes, int ranks) {
  std::vector<Transfer> list;
  if (shape.pattern == Pattern::pair) {
    list.push_back(transfer(shape.source, shape.destination, shape.issue, bytes));
    if (shape.bidirectional) {
      list.push_back(transfer(shape.destination, shape.source, shape.issue, bytes));
    }
    return list;
  }
  // In rotated order, so that in each step every device sends to one device and receives from one.
  for (int step = 1; step < ranks; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Endpoint from{rank, MemoryKind::device};
      const Endpoint to{(rank + step) % ranks, MemoryKind::device};
      list.push_back(transfer(from, to, shape.issue, bytes));
    }
  }
  return list;
}

}  // namespace duet
