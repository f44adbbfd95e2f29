// What the tests of collective kernels share: inputs of digits, and their expected sums.
#pragma once

#include "devices.h"

namespace duet::conformance {

inline constexpr std::uint64_t kSeed = 40;

inline const std::vector<DType> kReduced = {DType::fp32, DType::fp16, DType::bf16, DType::int32};

inline Fill digits(DType dtype, int ranks, std::uint64_t seed) {
  return {FillKind::digits, seed, 0, dtype, Reduction::sum, ranks};
}

inline Fill reduced(DType dtype, Reduction op, int ranks, std::uint64_t seed = kSeed) {
  return {FillKind::digits_reduced, seed, 0, dtype, op, ranks};
}

// A local kernel whose items use no semaphores.
inline LocalKernel local_kernel(const std::vector<KernelItem>& items, DType dtype, Reduction op,
                                int blocks = 0) {
  LocalKernel kernel;
  for (const KernelItem& item : items) kernel.items.push_back({item, {}, {}});
  kernel.dtype = dtype;
  kernel.op = op;
  kernel.blocks = blocks;
  return kernel;
}

class Kernels : public DeviceTest {
 protected:
  void run(Device& on, const CollectiveKernel& kernel) {
    const auto prepared = on.prepare(kernel);
    auto stream = on.make_stream();
    stream->launch(*prepared);
    stream->synchronize(kDeadline);
  }

  // `ranks` spans of `count` digits, each in its own buffer, at an offset of `shift` elements.
  std::vector<Span> inputs(DType dtype, int ranks, std::size_t count, std::size_t shift) {
    std::vector<Span> spans;
    const std::size_t size = size_of(dtype);
    auto stream = device().make_stream();
    for (int rank = 0; rank < ranks; ++rank) {
      kept_.push_back(device().allocate((count + shift) * size));
      spans.push_back(kept_.back().slice(shift * size, count * size));
      stream->fill(spans.back(), digits(dtype, ranks, kSeed + static_cast<std::uint64_t>(rank)));
    }
    stream->synchronize(kDeadline);
    return spans;
  }

  void expect(const Span& span, const Fill& fill) {
    const auto difference = span.owner->check(span, fill);
    EXPECT_FALSE(difference.has_value())
        << name(fill.dtype) << " " << name(fill.op) << " of " << fill.ranks << ", " << span.bytes
        << " bytes, from " << (difference ? difference->first_offset : 0);
  }

  std::vector<Buffer> kept_;
};

}  // namespace duet::conformance
