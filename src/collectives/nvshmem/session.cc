#include "collectives/nvshmem/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/nvshmem/plan.h"
#include "core/error.h"

namespace duet::nvshmem {
namespace {

class SessionMemory : public SymmetricMemory {
 public:
  SessionMemory(const Calls& calls, Rank& rank, std::uint64_t bytes, const Watchdog& watchdog,
                SymmetricPlaces& places)
      : SymmetricMemory(calls, rank, bytes, watchdog), places_(places) {
    places_.add(rank.index, span());
  }
  ~SessionMemory() override { places_.remove(span()); }

 private:
  SymmetricPlaces& places_;
};

}  // namespace

void SymmetricPlaces::add(int pe, const Span& span) {
  const std::lock_guard<std::mutex> lock(mutex_);
  places_.push_back({span, made_[pe]++});
}

void SymmetricPlaces::remove(const Span& span) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto same = [&](const Place& place) { return place.span.data == span.data; };
  places_.erase(std::remove_if(places_.begin(), places_.end(), same), places_.end());
}

std::string SymmetricPlaces::place_of(const Span& span) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [whole, number] : places_) {
    const bool inside =
        span.data >= whole.data && span.data + span.bytes <= whole.data + whole.bytes;
    if (inside) return fmt::format("{}+{}", number, span.data - whole.data);
  }
  return "";
}

Session::Session(const Calls& calls, const Way& way, Team& team)
    : calls_(calls), way_(way), watchdog_(team) {
  team.each([&](Rank& rank) { join(calls, rank); });
}

std::optional<Skipped> Session::unsupported(const Collective& collective, bool in_place) const {
  if (collective.kind != CollectiveKind::all_to_all) {
    return Skipped{fmt::format("by NVSHMEM Duet runs all_to_all, not {}", name(collective.kind))};
  }
  if (in_place) return Skipped{"NVSHMEM runs all_to_all out of place only"};
  return std::nullopt;
}

std::unique_ptr<CollectiveMemory> Session::allocate(Rank& rank, std::uint64_t bytes) {
  return std::make_unique<SessionMemory>(calls_, rank, bytes, watchdog_, places_);
}

std::string Session::request(const Rank&, const Collective&, const CollectiveBuffers& buffers) {
  const std::string send = places_.place_of(buffers.send), recv = places_.place_of(buffers.recv);
  return send.empty() || recv.empty() ? "" : send + " " + recv;
}

std::unique_ptr<CollectivePlan> Session::make_plan(Rank& rank, const Collective& collective,
                                                   const CollectiveBuffers& buffers,
                                                   const std::vector<std::string>& requests) {
  const auto symmetric = [&](const std::string& each) {
    return !each.empty() && each == requests.front();
  };
  if (!std::all_of(requests.begin(), requests.end(), symmetric)) {
    throw BadArgument(
        "nvshmem: expected buffers that the session has allocated, at the same place "
        "on all ranks");
  }
  if (way_.initiation == Initiation::stream) {
    return std::make_unique<AllToAllPlan>(calls_, rank, collective, buffers);
  }
  return std::make_unique<PacketPlan>(calls_, rank, collective, buffers,
                                      way_.initiation == Initiation::grid, way_.packet, watchdog_);
}

}  // namespace duet::nvshmem
