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

Means means_of(const Communicator& communicator, const Call& call, void* stream) {
  const auto& least = communicator.thresholds.least[static_cast<std::size_t>(call.kind)];
  const PairCopies& copies = *communicator.copies;
  const int ranks = copies.ranks();
  if (call.bytes == 0 || call.root < 0 || call.root >= ranks) return Means::nccl;
  const bool is_large =
      least && all_bytes(call, ranks) >= *least && (!reduces(call.kind) || copies.can_reduce());
  Means means = is_large ? Means::copies : Means::nccl;
  if (copies.by_chunks(call, /*captured=*/false)) means = Means::kernel;
  if (copies.by_packets(call)) means = Means::packets;
  if (means == Means::nccl) return means;
  const std::uint64_t capture = communicator.device->capture(stream);
  if (capture == kUnknownCapture) return Means::nccl;
  if (capture == kNotCaptured || means != Means::copies) return means;
  return copies.by_chunks(call, /*captured=*/true) ? Means::kernel : Means::nccl;
}

Means means_of(const Communicator& communicator, const Message& message, void* stream) {
  const auto& least = communicator.thresholds.least_message;
  const PairCopies& copies = *communicator.copies;
  const bool taken = least && copies.can_send() && message.bytes > 0 && message.bytes >= *least &&
                     message.peer >= 0 && message.peer < copies.ranks() &&
                     communicator.device->capture(stream) == kNotCaptured;
  return taken ? Means::copies : Means::nccl;
}

void count(nccl::Comm comm, Communicator* communicator, const Counted& call, Means means) {
  CommunicatorCounts* counts = communicator == nullptr ? nullptr : communicator->counts.load();
  if (counts == nullptr) counts = counts_of(comm);
  if (counts == nullptr) return;
  if (communicator != nullptr) communicator->counts = counts;
  count_call(*counts, call, means);
}

}  // namespace duet::nccl_shim
