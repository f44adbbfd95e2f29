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
                SymmetricAllocations& allocations)
      : SymmetricMemory(calls, rank, bytes, watchdog), allocations_(allocations) {
    allocations_.add(rank.index, span());
  }
  ~SessionMemory() override { allocations_.remove(span()); }

 private:
  SymmetricAllocations& allocations_;
};

}  // namespace

void SymmetricAllocations::add(int pe, const Span& span) {
  const std::lock_guard<std::mutex> lock(mutex_);
  allocations_.push_back({span, made_[pe]++});
}

void SymmetricAllocations::remove(const Span& span) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto same = [&](const Allocation& each) { return each.span.data == span.data; };
  allocations_.erase(std::remove_if(allocations_.begin(), allocations_.end(), same),
                     allocations_.end());
}

std::string SymmetricAllocations::place_of(const Span& span) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [whole, number] : allocations_) {
    const bool inside =
        span.data >= whole.data && span.data + span.bytes <= whole.data + whole.bytes;
    if (inside) return fmt::format("{}+{}", number, span.data - whole.data);
  }
  return "";
}

Session::Session(const Calls& calls, const PutSettings& puts, Team& team)
    : calls_(calls), puts_(puts), watchdog_(team) {
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
  return std::make_unique<SessionMemory>(calls_, rank, bytes, watchdog_, allocations_);
}

std::string Session::request(const Rank&, const Collective&, const CollectiveBuffers& buffers) {
  const std::string send = allocations_.place_of(buffers.send),
                    recv = allocations_.place_of(buffers.recv);
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
  if (puts_.initiation == Initiation::stream) {
    return std::make_unique<AllToAllPlan>(calls_, rank, collective, buffers);
  }
  return std::make_unique<PacketPlan>(calls_, rank, collective, buffers,
                                      puts_.initiation == Initiation::grid, puts_.packet,
                                      watchdog_);
}

}  // namespace duet::nvshmem
