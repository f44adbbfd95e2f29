#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "collectives/nccl/communicators.h"
#include "collectives/nccl/memory.h"

namespace duet::nccl {

// The window that a rank needs for one of its buffers. `bytes` is 0 where the rank has no such
// buffer, and where both buffers lie in one allocation and the other request covers it.
struct WindowRequest {
  std::uint64_t bytes = 0;   // size of the whole allocation
  std::uint64_t offset = 0;  // offset of the buffer in the allocation
};
using WindowRequests = std::array<WindowRequest, 2>;  // send, receive

// The requests for a rank's buffers. Throws BadArgument if a buffer is not memory that the session
// has allocated.
WindowRequests window_requests(const Allocations& allocations, CollectiveKind kind,
                               const CollectiveBuffers& buffers);

// The NCCL windows of one plan. Every rank registers the same number of windows with equal sizes:
// NCCL finds a peer's buffer by the window and offset of the rank that calls. A rank that has no
// buffer where others have one registers a stand-in allocation.
class Windows {
 public:
  // Collective. `requests` are those of all ranks, by rank. Throws BadArgument where sizes differ.
  Windows(std::shared_ptr<Communicators> communicators, Rank& rank,
          const CollectiveBuffers& buffers, const std::vector<WindowRequests>& requests);
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // The address to pass to NCCL for a buffer that this rank does not have; nullptr where the rank
  // has the buffer or no rank has one. `side`: 0 is send, 1 is receive.
  std::byte* stand_in(std::size_t side) const { return stand_in_at_[side]; }

 private:
  // The memory that a rank registers for its send or receive buffer.
  struct WindowMemorySpan {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;  // 0: no rank has such a buffer
  };

  WindowMemorySpan memory_of(Rank& rank, std::size_t side, const Span& span,
                             const std::vector<WindowRequests>& requests);
  void add(Rank& rank, const WindowMemorySpan& side);
  void deregister() noexcept;

  std::shared_ptr<Communicators> communicators_;
  std::shared_ptr<Allocations> allocations_;  // the stand-ins' allocations
  Comm comm_ = nullptr;
  std::vector<Window> registered_;
  std::vector<std::unique_ptr<WindowMemory>> stand_ins_;
  std::array<std::byte*, 2> stand_in_at_{};
};

}  // namespace duet::nccl
