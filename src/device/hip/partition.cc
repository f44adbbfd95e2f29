// Partitions of a GPU's CUs, by the CU masks of streams. Such streams have no priority.
#include <cstdint>
#include <vector>

#include "device/gpu/vendor_calls.h"

namespace duet::hip {
namespace {

constexpr int kBits = 32;  // bits per word of the mask

int units_of(int ordinal) {
  int units = 0;
  DUET_GPU_CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, ordinal));
  return units;
}

// Consecutive bits of the mask belong to different shader engines in turn (ROCr,
// hsa_amd_queue_cu_set_mask). Leaving out the last bits therefore takes CUs from all shader engines
// evenly.
class CuMask : public UnitPartition {
 public:
  CuMask(int ordinal, int left_out) {
    const int all = units_of(ordinal), kept = all - left_out;
    words_.resize(static_cast<std::size_t>((all + kBits - 1) / kBits));
    for (int unit = 0; unit < kept; ++unit) {
      words_[static_cast<std::size_t>(unit / kBits)] |= 1u << (unit % kBits);
    }
  }

  hipStream_t make_stream(int) const override {
    hipStream_t stream = nullptr;
    DUET_GPU_CHECK(hipExtStreamCreateWithCUMask(&stream, static_cast<std::uint32_t>(words_.size()),
                                                words_.data()));
    return stream;
  }

 private:
  std::vector<std::uint32_t> words_;
};

}  // namespace

int unit_grain(int) { return 1; }

std::unique_ptr<UnitPartition> make_partition(int ordinal, int left_out) {
  return std::make_unique<CuMask>(ordinal, left_out);
}

}  // namespace duet::hip
