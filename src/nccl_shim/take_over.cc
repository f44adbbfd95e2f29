#include "nccl_shim/take_over.h"

namespace duet::nccl_shim {

std::size_t size_of(nccl::Type type) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // ncclDataType_t's order
  return type >= 0 && type < 12 ? kSizes[type] : 0;
}

std::optional<DType> reduced_type(nccl::Type type) {
  if (type == nccl::kFloat32) return DType::fp32;
  if (type == nccl::kFloat16) return DType::fp16;
  if (type == nccl::kBfloat16) return DType::bf16;
  if (type == nccl::kInt32) return DType::int32;
  return std::nullopt;
}

std::optional<Reduction> reduction_of(nccl::Operation operation) {
  if (operation == nccl::kSum) return Reduction::sum;
  if (operation == nccl::kAvg) return Reduction::avg;
  if (operation == nccl::kMin) return Reduction::min;
  if (operation == nccl::kMax) return Reduction::max;
  return std::nullopt;
}

bool is_taken(const Communicator& communicator, const Call& call, void* stream) {
  const auto& least = communicator.thresholds.least[static_cast<std::size_t>(call.kind)];
  const int ranks = communicator.copies->ranks();
  if (call.bytes == 0 || call.root < 0 || call.root >= ranks) return false;
  const bool is_large = least && all_bytes(call, ranks) >= *least &&
                        (!reduces(call.kind) || communicator.copies->can_reduce());
  const PairCopies& copies = *communicator.copies;
  const bool by_kernel = copies.by_packets(call) || copies.by_chunks(call, /*captured=*/false);
  if (!is_large && !by_kernel) return false;
  const std::uint64_t capture = communicator.device->capture(stream);
  if (capture == kNotCaptured) return true;
  return capture != kUnknownCapture && (by_kernel || copies.by_chunks(call, /*captured=*/true));
}

bool is_taken(const Communicator& communicator, const Message& message, void* stream) {
  const auto& least = communicator.thresholds.least_message;
  const PairCopies& copies = *communicator.copies;
  return least && copies.can_send() && message.bytes > 0 && message.bytes >= *least &&
         message.peer >= 0 && message.peer < copies.ranks() &&
         communicator.device->capture(stream) == kNotCaptured;
}

void count(nccl::Comm comm, Communicator* communicator, const Counted& call, bool taken) {
  CommunicatorCounts* counts = communicator == nullptr ? nullptr : communicator->counts.load();
  if (counts == nullptr) counts = counts_of(comm);
  if (counts == nullptr) return;
  if (communicator != nullptr) communicator->counts = counts;
  count_call(*counts, call, taken);
}

}  // namespace duet::nccl_shim
