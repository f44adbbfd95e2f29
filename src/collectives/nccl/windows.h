// The windows of one plan: every rank registers the same number of them, with equal sizes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "collectives/nccl/communicators.h"
#include "collectives/nccl/memory.h"

namespace duet::nccl {

// What a rank brings for one of its buffers: 0 bytes where it has no such buffer, or where both
// buffers lie in one allocation that the other one brings.
struct WindowRequest {
  std::uint64_t bytes = 0;   // of the whole allocation
  std::uint64_t offset = 0;  // of the buffer in it
};
using WindowRequests = std::array<WindowRequest, 2>;  // send, receive

// Throws BadArgument if a buffer is not memory that the session has allocated.
WindowRequests window_requests(const Allocations& allocations, CollectiveKind kind,
                               const CollectiveBuffers& buffers);

// Collective, made and ended while the communicators live. A rank without a buffer registers memory
// of its own in its place: NCCL reaches a peer's buffer by the caller's window and offset.
class Windows {
 public:
  // `requests` of all ranks. Throws BadArgument where sizes differ.
  Windows(std::shared_ptr<Communicators> communicators, Rank& rank,
          const CollectiveBuffers& buffers, const std::vector<WindowRequests>& requests);
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // The address in the stand-in for a buffer that this rank lacks; nullptr where it needs none.
  std::byte* stand_in(std::size_t side) const { return stand_in_at_[side]; }

 private:
  // What a rank registers for a side.
  struct Side {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;  // 0: no rank has it
  };

  Side side_of(Rank& rank, std::size_t side, const Span& span,
               const std::vector<WindowRequests>& requests);
  void add(Rank& rank, const Side& side);
  void deregister() noexcept;

  std::shared_ptr<Communicators> communicators_;
  std::shared_ptr<Allocations> allocations_;  // of stand-ins
  Comm comm_ = nullptr;
  std::vector<Window> registered_;
  std::vector<std::unique_ptr<WindowMemory>> stand_ins_;
  std::array<std::byte*, 2> stand_in_at_{};
};

}  // namespace duet::nccl
