// Names of a copy's axes, and the patterns as lists of transfers.
#include "copy/transfer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/error.h"
#include "core/suggestion.h"

namespace duet {
namespace {

template <typename Value, std::size_t n>
using Names = std::array<std::pair<Value, std::string_view>, n>;

constexpr Names<CopyKind, 4> kKinds{{{CopyKind::peer, "peer"},
                                     {CopyKind::local, "local"},
                                     {CopyKind::host_to_device, "host_to_device"},
                                     {CopyKind::device_to_host, "device_to_host"}}};
constexpr Names<Issue, 2> kIssues{{{Issue::push, "push"}, {Issue::pull, "pull"}}};
constexpr Names<Pattern, 2> kPatterns{{{Pattern::pair, "pair"}, {Pattern::all_pairs, "all_pairs"}}};
constexpr Names<Executor, 3> kExecutors{
    {{Executor::dma, "dma"}, {Executor::kernel, "kernel"}, {Executor::host, "host"}}};

template <typename Value, std::size_t n>
std::string_view name_in(const Names<Value, n>& names, Value value) {
  for (const auto& [each, text] : names) {
    if (each == value) return text;
  }
  return "?";
}

template <typename Value, std::size_t n>
Value parse_in(const Names<Value, n>& names, std::string_view what, std::string_view text) {
  std::vector<std::string_view> known;
  for (const auto& [value, word] : names) {
    if (word == text) return value;
    known.push_back(word);
  }
  throw UsageError(fmt::format("unknown {} '{}'{}: expected one of {}", what, text,
                               did_you_mean(text, known), fmt::join(known, ", ")));
}

Transfer transfer(Endpoint source, Endpoint destination, Issue issue, std::uint64_t bytes) {
  return {source, destination, issue == Issue::push ? source.rank : destination.rank, bytes};
}

}  // namespace

std::string_view name(CopyKind kind) { return name_in(kKinds, kind); }
CopyKind parse_copy_kind(std::string_view text) { return parse_in(kKinds, "kind of copy", text); }
std::string_view name(Issue issue) { return name_in(kIssues, issue); }
Issue parse_issue(std::string_view text) { return parse_in(kIssues, "issue", text); }
std::string_view name(Pattern pattern) { return name_in(kPatterns, pattern); }
Pattern parse_pattern(std::string_view text) { return parse_in(kPatterns, "pattern", text); }
Executor parse_executor(std::string_view text) { return parse_in(kExecutors, "executor", text); }

std::vector<Transfer> transfers(const CopyShape& shape, std::uint64_t bytes, int ranks) {
  std::vector<Transfer> list;
  if (shape.pattern == Pattern::pair) {
    list.push_back(transfer(shape.source, shape.destination, shape.issue, bytes));
    if (shape.bidirectional) {
      list.push_back(transfer(shape.destination, shape.source, shape.issue, bytes));
    }
    return list;
  }
  // In rotated order, so that at the start every device sends to one and receives from one.
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
