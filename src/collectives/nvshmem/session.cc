#include "collectives/nvshmem/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/nvshmem/plan.h"
#include "core/error.h"

namespace duet::nvshmem {
namespace {

// As much symmetric memory as the rank with the most asks for, of which a rank has what it asks
// for.
class SessionMemory : public CollectiveMemory {
 public:
  SessionMemory(const Calls& calls, Rank& rank, std::uint64_t bytes, const Watchdog& watchdog,
                SymmetricAllocations& allocations)
      : memory_(calls, rank, most_of(rank, bytes), watchdog),
        bytes_(bytes),
        allocations_(allocations) {
    allocations_.add(rank.index, memory_.span());
  }
  ~SessionMemory() override { allocations_.remove(memory_.span()); }
  Span span() const override { return memory_.span().slice(0, bytes_); }

 private:
  static std::uint64_t most_of(Rank& rank, std::uint64_t bytes) {
    std::uint64_t most = 0;
    const auto all = rank.team.gather(rank, std::to_string(bytes), "the other ranks to allocate");
    for (const std::string& each : *all) most = std::max<std::uint64_t>(most, std::stoull(each));
    return most;
  }

  SymmetricMemory memory_;
  const std::uint64_t bytes_;
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

bool runs(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all ||
         kind == CollectiveKind::all_to_all_v;
}

Session::Session(const Calls& calls, const PutSettings& puts, Team& team)
    : calls_(calls), puts_(puts), watchdog_(team) {
  team.each([&](Rank& rank) { join(calls, rank); });
}

std::optional<Skipped> Session::unsupported(const Collective& collective, bool in_place) const {
  if (!runs(collective.kind)) {
    return Skipped{
        fmt::format("by NVSHMEM Duet runs all_gather, all_to_all and all_to_all_v, not {}",
                    name(collective.kind))};
  }
  if (in_place) return Skipped{"by NVSHMEM Duet runs calls out of place only"};
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
    return std::make_unique<StreamPlan>(calls_, rank, collective, buffers);
  }
  return std::make_unique<PacketPlan>(calls_, rank, collective, buffers,
                                      puts_.initiation == Initiation::grid, puts_.packet,
                                      watchdog_);
}

}  // namespace duet::nvshmem
