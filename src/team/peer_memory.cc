// Two gatherings: everyone's memory, then whether everyone reaches it.
#include "team/peer_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/packing.h"

namespace duet {
namespace {

// What a rank brings, as text. Addresses mean something in its own process alone.
struct Offer {
  Span span;             // without its owner
  std::string shared;    // SharedMemory, where there are other processes
  std::string obstacle;  // why the span cannot be shared
  std::uint64_t number = 0;
};

std::string text_of(const Offer& offer) {
  return pack({std::to_string(reinterpret_cast<std::uintptr_t>(offer.span.data)),
               std::to_string(offer.span.bytes), std::to_string(static_cast<int>(offer.span.kind)),
               offer.shared, offer.obstacle, std::to_string(offer.number)});
}

Offer offer_of(const std::string& text) {
  const std::vector<std::string> items = unpack(text);
  const std::uintptr_t address = std::stoull(items.at(0));
  return {{nullptr, reinterpret_cast<std::byte*>(address), std::stoull(items.at(1)),
           static_cast<MemoryKind>(std::stoi(items.at(2)))},
          items.at(3),
          items.at(4),
          std::stoull(items.at(5))};
}

std::vector<Offer> offers_of(const std::vector<std::string>& texts) {
  std::vector<Offer> offers;
  for (const std::string& text : texts) offers.push_back(offer_of(text));
  return offers;
}

Offer make_offer(const Rank& rank, const Span& mine) {
  if (mine.bytes > 0 && mine.owner != &rank.device) {
    throw BadArgument(fmt::format("peer memory: the span is not of {}", rank.device.info().name));
  }
  Offer offer{mine, "", "", rank.team.next_number(rank)};
  if (mine.bytes == 0 || rank.team.processes() == nullptr) return offer;
  try {
    offer.shared = rank.device.share(mine).text();
  } catch (const Unavailable& error) {
    offer.obstacle = error.what();
  }
  return offer;
}

Span in_this_process(const Rank& rank, int owner, Span span) {
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

Span in_another(const Rank& rank, const Offer& offer) {
  if (!offer.obstacle.empty()) throw Unavailable(offer.obstacle);
  return rank.device.map(SharedMemory::parse(offer.shared));
}

}  // namespace

PeerMemory::PeerMemory(Rank& rank, const std::function<Span()>& make, const std::string& what,
                       double deadline_seconds)
    : device_(&rank.device) {
  Offer own;
  std::string obstacle;
  const auto offer_own = [&] {
    own = make_offer(rank, make());
    return text_of(own);
  };
  try {
    const auto offers = rank.team.gather_as<std::vector<Offer>>(rank, Team::Make(offer_own), what,
                                                                offers_of, deadline_seconds);
    for (const Offer& offer : *offers) number_ = std::max(number_, offer.number);
    rank.team.take_number(rank, number_);
    for (const Offer& offer : *offers) {
      const int owner = size();
      spans_.push_back(Span{});
      if (offer.span.bytes == 0 || !obstacle.empty()) continue;
      try {
        const bool local = rank.team.is_local(owner);
        spans_.back() = local ? in_this_process(rank, owner, offer.span) : in_another(rank, offer);
        if (!local) mapped_.push_back(spans_.back());
      } catch (const Error& error) {
        obstacle = fmt::format("rank {}: memory of rank {}: {}", rank.index, owner, error.what());
      }
    }
    const auto obstacles = rank.team.gather(rank, obstacle, what, deadline_seconds);
    for (const std::string& each : *obstacles) {
      if (!each.empty()) throw Unreachable(fmt::format("{}: {}", what, each));
    }
  } catch (...) {
    if (!own.shared.empty()) device_->withdraw(SharedMemory::parse(own.shared));
    reset();
    throw;
  }
  if (!own.shared.empty()) device_->withdraw(SharedMemory::parse(own.shared));
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
  for (auto span = mapped_.rbegin(); span != mapped_.rend(); ++span) device_->unmap(*span);
  mapped_.clear();
  spans_.clear();
}

}  // namespace duet
