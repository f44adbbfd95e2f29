#include "collectives/nccl/session.h"

#include <fmt/format.h>

#include <cstring>

#include "collectives/nccl/plan.h"
#include "collectives/nccl/vendor.h"
#include "collectives/nccl/windows.h"
#include "collectives/tuning/thresholds.h"
#include "core/error.h"

namespace duet::nccl {
namespace {

// Requests are exchanged between ranks as raw bytes.
std::string packed(const WindowRequests& requests) {
  return {reinterpret_cast<const char*>(requests.data()), sizeof(requests)};
}

std::vector<WindowRequests> unpacked(const std::vector<std::string>& all) {
  std::vector<WindowRequests> requests(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::memcpy(requests[rank].data(), all[rank].data(), sizeof(WindowRequests));
  }
  return requests;
}

}  // namespace

Session::Session(const Library& library, Mode mode, Team& team)
    : library_(library),
      mode_(std::move(mode)),
      ranks_(team.size()),
      communicators_(std::make_shared<Communicators>(library, mode_, team)),
      allocations_(std::make_shared<Allocations>()) {}

std::optional<Skipped> Session::unsupported(const Collective& collective, bool in_place) const {
  const CollectiveKind kind = collective.kind;
  if (!has_type(collective.dtype)) {
    return Skipped{fmt::format("Duet calls {} with fp32, fp16, bf16, int32 and bytes only, not {}",
                               library_.product, name(collective.dtype))};
  }
  if (in_place && (kind == CollectiveKind::all_to_all || !has_in_place(kind))) {
    return Skipped{fmt::format("{} runs {} out of place only", library_.product, name(kind))};
  }
  const bool all_to_all =
      kind == CollectiveKind::all_to_all || kind == CollectiveKind::all_to_all_v;
  if (all_to_all && ranks_ == 1 && library_.version >= kNoAllToAllAloneSince &&
      library_.version <= kNoAllToAllAloneUntil) {
    return Skipped{fmt::format("{} of one rank does not end in {} {}", name(kind), library_.product,
                               version_text(library_.version))};
  }
  if (mode_.windows && kind == CollectiveKind::all_to_all_v) {
    return Skipped{"windows have the same size on all ranks, but buffers of all_to_all_v differ"};
  }
  const bool copied = kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all ||
                      kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
  if (mode_.chunks && !may_be_chunks(kind)) {
    return Skipped{fmt::format("the drop-in's kernel does not make {}", name(kind))};
  }
  if (mode_.zero_cta && !copied) {
    return Skipped{
        fmt::format("{} runs all_gather, all_to_all, gather and scatter without CTAs, "
                    "not {}",
                    library_.product, name(kind))};
  }
  return std::nullopt;
}

std::unique_ptr<CollectiveMemory> Session::allocate(Rank& rank, std::uint64_t bytes) {
  if (!mode_.windows) return CollectiveSession::allocate(rank, bytes);
  return std::make_unique<WindowMemory>(library_, rank.device, bytes, allocations_);
}

std::string Session::request(const Rank&, const Collective& collective,
                             const CollectiveBuffers& buffers) {
  return mode_.windows ? packed(window_requests(*allocations_, collective.kind, buffers)) : "";
}

std::unique_ptr<CollectivePlan> Session::make_plan(Rank& rank, const Collective& collective,
                                                   const CollectiveBuffers& buffers,
                                                   const std::vector<std::string>& requests) {
  communicators_->connect(rank);
  std::unique_ptr<Windows> windows;
  if (mode_.windows) {
    windows = std::make_unique<Windows>(communicators_, rank, buffers, unpacked(requests));
  }
  auto plan = std::make_unique<NcclPlan>(
      communicators_, rank, collective, buffers, std::move(windows),
      fmt::format("{} {}, {}{}", library_.product, version_text(library_.version), mode_.words,
                  library_.nvls_off ? ", NVLS off" : ""));
  plan->first_call(rank, collective.kind);
  return plan;
}

}  // namespace duet::nccl
