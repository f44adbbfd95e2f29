#include "collectives/nccl/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/nccl/vendor.h"

namespace duet::nccl {
namespace {

constexpr std::size_t kSend = 0, kRecv = 1;

std::optional<Allocation> allocation_of(const Allocations& allocations, const Span& span) {
  if (span.bytes == 0) return std::nullopt;
  const auto found = allocations.around(span);
  if (!found) throw BadArgument("windows: expected buffers that the session has allocated");
  return found;
}

WindowRequest request(const std::optional<Allocation>& allocation, const Span& span) {
  if (!allocation) return {};
  return {allocation->bytes, static_cast<std::uint64_t>(span.data - allocation->base)};
}

// In place: the side whose buffer contains the other side's buffer.
std::size_t larger_side(CollectiveKind kind) {
  return kind == CollectiveKind::scatter || kind == CollectiveKind::reduce_scatter ? kSend : kRecv;
}

// The request of the first rank that has a buffer on this side. The sizes of all other ranks must
// equal it.
WindowRequest agreed(const std::vector<WindowRequests>& requests, std::size_t side) {
  WindowRequest chosen;
  for (const WindowRequests& each : requests) {
    const WindowRequest& mine = each[side];
    if (mine.bytes == 0) continue;
    if (chosen.bytes == 0) chosen = mine;
    if (mine.bytes != chosen.bytes) {
      throw BadArgument(fmt::format("windows: {} and {} bytes: expected the same on every rank",
                                    chosen.bytes, mine.bytes));
    }
  }
  return chosen;
}

}  // namespace

WindowRequests window_requests(const Allocations& allocations, CollectiveKind kind,
                               const CollectiveBuffers& buffers) {
  auto send = allocation_of(allocations, buffers.send);
  auto recv = allocation_of(allocations, buffers.recv);
  if (send && recv && send->base == recv->base) {
    (larger_side(kind) == kSend ? recv : send).reset();
  }
  return {request(send, buffers.send), request(recv, buffers.recv)};
}

Windows::Windows(std::shared_ptr<Communicators> communicators, Rank& rank,
                 const CollectiveBuffers& buffers, const std::vector<WindowRequests>& requests)
    : communicators_(std::move(communicators)),
      allocations_(std::make_shared<Allocations>()),
      comm_(communicators_->comm_rank(rank).comm) {
  WindowMemorySpan send, recv;
  // Allocates before NCCL is called: if one rank ran out of memory later, the others would wait for
  // it in NCCL.
  rank.team.all_or_none(rank, "all ranks to have memory for windows", [&] {
    send = memory_of(rank, kSend, buffers.send, requests);
    recv = memory_of(rank, kRecv, buffers.recv, requests);
  });
  try {
    add(rank, send);
    add(rank, recv);
  } catch (...) {
    deregister();
    throw;
  }
}

Windows::WindowMemorySpan Windows::memory_of(Rank& rank, std::size_t side, const Span& span,
                                             const std::vector<WindowRequests>& requests) {
  const WindowRequest shape = agreed(requests, side);
  if (shape.bytes == 0) return {};
  const WindowRequest& mine = requests[static_cast<std::size_t>(rank.index)][side];
  std::byte* base = span.data - mine.offset;
  if (mine.bytes == 0) {
    stand_ins_.push_back(std::make_unique<WindowMemory>(communicators_->library(), rank.device,
                                                        shape.bytes, allocations_));
    base = stand_ins_.back()->span().data;
    if (span.bytes == 0) stand_in_at_[side] = base + shape.offset;
  }
  return {base, shape.bytes};
}

void Windows::add(Rank& rank, const WindowMemorySpan& side) {
  if (side.bytes == 0) return;
  const auto window = std::make_shared<Window>(nullptr);
  communicators_->together(
      rank, "all ranks to register a window",
      [window, side, comm = comm_, &library = communicators_->library(), &device = rank.device] {
        device.make_current();
        DUET_NCCL_CHECK(
            library, window_register(comm, side.base, side.bytes, window.get(), kWindowSymmetric));
      });
  // The library reports success but returns no window where symmetric memory is not supported.
  if (*window == nullptr) {
    throw Unavailable(fmt::format("{} has no symmetric windows on this machine{}",
                                  communicators_->library().product, kWindowsNeed));
  }
  registered_.push_back(*window);
}

void Windows::deregister() noexcept {
  if (!communicators_->usable()) return;  // the abort has ended all windows
  for (const Window window : registered_) {
    forget(communicators_->library().window_deregister(comm_, window));
  }
}

Windows::~Windows() { deregister(); }

}  // namespace duet::nccl
