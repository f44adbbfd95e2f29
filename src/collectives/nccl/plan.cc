#include "collectives/nccl/plan.h"

#include <fmt/format.h>

namespace duet::nccl {
namespace {

constexpr double kDeadlineSeconds = 120;

// The address of a buffer. Where the rank does not have this buffer: the window's stand-in or,
// without windows, the address of the other buffer, because NCCL checks the address only.
std::byte* address(const Span& own, const Span& other, const Windows* windows, std::size_t side) {
  if (own.bytes > 0) return own.data;
  std::byte* stand_in = windows != nullptr ? windows->stand_in(side) : nullptr;
  return stand_in != nullptr ? stand_in : other.data;
}

}  // namespace

NcclPlan::NcclPlan(std::shared_ptr<Communicators> communicators, const Rank& rank,
                   const Collective& collective, const CollectiveBuffers& buffers,
                   std::unique_ptr<Windows> windows, std::string algorithm)
    : communicators_(std::move(communicators)),
      local_(rank.local),
      windows_(std::move(windows)),
      calls_(std::make_shared<Calls>(communicators_->library(), communicators_->comm_rank(rank),
                                     collective)),
      send_(address(buffers.send, buffers.recv, windows_.get(), 0)),
      recv_(address(buffers.recv, buffers.send, windows_.get(), 1)),
      algorithm_(std::move(algorithm)) {
  if (calls_->grouped()) algorithm_ += ", grouped sends and receives";
}

void NcclPlan::first_call(Rank& rank, CollectiveKind kind) {
  const std::shared_ptr<Stream> stream = rank.device.make_stream();
  communicators_->together(
      rank, fmt::format("the first {} on all ranks", name(kind)),
      [stream, calls = calls_, send = send_, recv = recv_, &device = rank.device] {
        device.make_current();
        calls->enqueue(send, recv, stream->native());
      });
  try {
    stream->synchronize(kDeadlineSeconds);
  } catch (const std::exception& error) {
    communicators_->give_up(error.what());
    throw;
  }
}

void NcclPlan::enqueue(Stream& stream) {
  stream.device().make_current();
  communicators_->enqueue(local_, [&] { calls_->enqueue(send_, recv_, stream.native()); });
}

}  // namespace duet::nccl
