#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "drop_in_kernels.h"
#include "fake_gpu/cuda/kernels.h"

namespace duet::nccl_shim {
namespace {

constexpr std::size_t kMostElements = 70001, kMostParts = 8, kRoom = kMostElements * 4 + 256;

using testing::element_size;
using testing::fill_elements;
using testing::ReductionCase;

// `shift`: elements by which every other part is away from aligned memory. `in_place`: the result
// is where the last part was.
void check_reduction(const ReductionCase& tested, std::size_t elements, std::size_t count,
                     std::size_t shift, bool in_place) {
  static unsigned char* const memory = testing::memory_of_both((kMostParts + 1) * kRoom);
  const std::size_t bytes = elements * element_size(tested.type);
  PartsToReduce reduced{memory + kMostParts * kRoom, {}, bytes, tested.type, tested.reduction};
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* const part = memory + i * kRoom + i % 2 * shift * element_size(tested.type);
    fill_elements(part, tested.type, elements, i + 1);
    reduced.parts.push_back(part);
    if (in_place) reduced.to = part;
  }
  std::vector<unsigned char> expected(bytes);
  PartsToReduce by_host = reduced;
  by_host.to = expected.data();
  host::reduce_parts(by_host);
  auto* const to = static_cast<unsigned char*>(reduced.to);
  if (!in_place) std::memset(to, 0xee, bytes);
  to[bytes] = 0x5a;
  testing::reduce_by_kernel(reduced);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += to[i] != expected[i];
  EXPECT_EQ(wrong, 0u) << elements << " elements of " << count << " parts, shift " << shift;
  EXPECT_EQ(to[bytes], 0x5a) << "behind the result";
}

class EveryReduction : public ::testing::TestWithParam<ReductionCase> {};

TEST_P(EveryReduction, HaveTheBitsOfTheHost) {
  for (const std::size_t count : {2u, 3u, 4u, 8u}) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{999}, kMostElements}) {
      check_reduction(GetParam(), elements, count, 0, false);
      check_reduction(GetParam(), elements, count, 1, false);
    }
    check_reduction(GetParam(), 5000, count, 0, true);
  }
}

// As NCCL's.
TEST(KernelsOfReductions, AverageSumsOfInt32ThatWrapAround) {
  static auto* const memory = reinterpret_cast<std::int32_t*>(testing::memory_of_both(16));
  memory[0] = std::numeric_limits<std::int32_t>::max();
  memory[1] = 3;
  testing::reduce_by_kernel({memory + 2, {memory, memory + 1}, 4, DType::int32, Reduction::avg});
  EXPECT_EQ(memory[2], std::numeric_limits<std::int32_t>::min() / 2 + 1);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryReduction, ::testing::ValuesIn(testing::reduction_cases()),
                         [](const auto& tested) { return testing::name_of(tested.param); });

}  // namespace
}  // namespace duet::nccl_shim
