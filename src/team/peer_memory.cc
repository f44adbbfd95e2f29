// Two gathers: every rank's memory, then whether every rank can reach all of it.
#include "team/peer_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/packing.h"

namespace duet {
namespace {

// A rank's memory as it is gathered. The span's address is valid in the owner's process only.
struct RankMemory {
  Span span;               // without its owner
  std::string descriptor;  // a MemoryDescriptor's text, where there are other processes
  std::string reason;      // why the span cannot be exported
  std::uint64_t number = 0;
};

std::string text_of(const RankMemory& memory) {
  return pack({std::to_string(reinterpret_cast<std::uintptr_t>(memory.span.data)),
               std::to_string(memory.span.bytes),
               std::to_string(static_cast<int>(memory.span.kind)), memory.descriptor, memory.reason,
               std::to_string(memory.number)});
}

RankMemory memory_of_text(const std::string& text) {
  const std::vector<std::string> items = unpack(text);
  const std::uintptr_t address = std::stoull(items.at(0));
  return {{nullptr, reinterpret_cast<std::byte*>(address), std::stoull(items.at(1)),
           static_cast<MemoryKind>(std::stoi(items.at(2)))},
          items.at(3),
          items.at(4),
          std::stoull(items.at(5))};
}

std::vector<RankMemory> memories_of(const std::vector<std::string>& texts) {
  std::vector<RankMemory> memories;
  for (const std::string& text : texts) memories.push_back(memory_of_text(text));
  return memories;
}

RankMemory export_memory(const Rank& rank, const Span& mine) {
  if (mine.bytes > 0 && mine.owner != &rank.device) {
    throw BadArgument(fmt::format("peer memory: the span is not of {}", rank.device.info().name));
  }
  RankMemory memory{mine, "", "", rank.team.next_number(rank)};
  if (mine.bytes == 0 || rank.team.processes() == nullptr) return memory;
  try {
    memory.descriptor = rank.device.export_memory(mine).text();
  } catch (const Unavailable& error) {
    memory.reason = error.what();
  }
  return memory;
}

Span span_in_this_process(const Rank& rank, int owner, Span span) {
  Team& team = rank.team;
  span.owner = &team.device(owner);
  const bool reached =
      span.kind != MemoryKind::device ||
      team.machine().link(team.device_index(rank.index), team.device_index(owner)).peer_access;
  if (!reached) {
    throw Unavailable(fmt::format("no peer access from {} to {}", rank.device.info().name,
                                  span.owner->info().name));
  }
  return span;
}

Span import_from_another(const Rank& rank, const RankMemory& memory) {
  if (!memory.reason.empty()) throw Unavailable(memory.reason);
  return rank.device.import_memory(MemoryDescriptor::parse(memory.descriptor));
}

}  // namespace

PeerMemory::PeerMemory(Rank& rank, const std::function<Span()>& make, const std::string& what,
                       double deadline_seconds)
    : device_(&rank.device) {
  RankMemory own;
  std::string reason;
  const auto export_own = [&] {
    own = export_memory(rank, make());
    return text_of(own);
  };
  try {
    const auto memories = rank.team.gather_as<std::vector<RankMemory>>(
        rank, Team::Make(export_own), what, memories_of, deadline_seconds);
    for (const RankMemory& memory : *memories) number_ = std::max(number_, memory.number);
    rank.team.take_number(rank, number_);
    for (const RankMemory& memory : *memories) {
      const int owner = size();
      spans_.push_back(Span{});
      if (memory.span.bytes == 0 || !reason.empty()) continue;
      try {
        const bool local = rank.team.is_local(owner);
        spans_.back() = local ? span_in_this_process(rank, owner, memory.span)
                              : import_from_another(rank, memory);
        if (!local) mapped_.push_back(spans_.back());
      } catch (const Error& error) {
        reason = fmt::format("rank {}: memory of rank {}: {}", rank.team.parent_rank(rank.index),
                             rank.team.parent_rank(owner), error.what());
      }
    }
    const std::string first = rank.team.first_reason(rank, reason, what, deadline_seconds);
    if (!first.empty()) throw Unreachable(fmt::format("{}: {}", what, first));
  } catch (...) {
    if (!own.descriptor.empty()) device_->close_export(MemoryDescriptor::parse(own.descriptor));
    reset();
    throw;
  }
  if (!own.descriptor.empty()) device_->close_export(MemoryDescriptor::parse(own.descriptor));
}

PeerMemory::PeerMemory(PeerMemory&& other) noexcept
    : device_(other.device_),
      number_(other.number_),
      spans_(std::exchange(other.spans_, {})),
      mapped_(std::exchange(other.mapped_, {})) {}

PeerMemory& PeerMemory::operator=(PeerMemory&& other) noexcept {
  if (this == &other) return *this;
  reset();
  device_ = other.device_;
  number_ = other.number_;
  spans_ = std::exchange(other.spans_, {});
  mapped_ = std::exchange(other.mapped_, {});
  return *this;
}

const Span& PeerMemory::at(int rank) const {
  if (rank < 0 || rank >= size()) {
    throw BadArgument(fmt::format("peer memory: rank {} of {}", rank, size()));
  }
  return spans_[static_cast<std::size_t>(rank)];
}

void PeerMemory::reset() noexcept {
  for (auto span = mapped_.rbegin(); span != mapped_.rend(); ++span) device_->close_import(*span);
  mapped_.clear();
  spans_.clear();
}

OfferedMemory::OfferedMemory(Rank& rank, const std::function<Buffer()>& make,
                             const std::string& what)
    : team_(rank.team), local_(rank.local) {
  const auto make_own = [&] {
    own_ = make();
    return own_.span();
  };
  try {
    all_.emplace(rank, make_own, what);
  } catch (const Unreachable&) {
    keep();
    throw;
  } catch (const OnAllRanks&) {
    throw;  // some rank could not allocate, and none has imported another's
  } catch (...) {
    keep();
    throw;
  }
}

// Others may have imported it already.
void OfferedMemory::keep() { team_.retired().keep(std::move(own_)); }

OfferedMemory::~OfferedMemory() {
  const std::uint64_t number = all_->number();
  all_.reset();
  team_.retired().retire(local_, number, std::move(own_));
}

}  // namespace duet
