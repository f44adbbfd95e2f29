#include "device/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "core/dtype.h"

namespace duet {
namespace {

using Elements = std::vector<std::byte>;

// Finite elements of either sign, small enough that no sum of three leaves the type's range.
Elements random_elements(DType dtype, std::size_t count, std::mt19937& random) {
  Elements elements(count * size_of(dtype));
  std::uniform_real_distribution<float> values(-1000, 1000);
  for (std::size_t i = 0; i < count; ++i) {
    store(dtype, elements.data() + i * size_of(dtype), values(random));
  }
  return elements;
}

// Element by element, as the header states it.
std::vector<float> expected(DType dtype, Reduction op, const std::vector<Elements>& inputs,
                            std::uint32_t divisor) {
  const std::size_t size = size_of(dtype);
  std::vector<float> results(inputs.front().size() / size);
  for (std::size_t i = 0; i < results.size(); ++i) {
    float value = load(dtype, inputs.front().data() + i * size);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      const float next = load(dtype, inputs[k].data() + i * size);
      value = op == Reduction::max   ? std::max(value, next)
              : op == Reduction::min ? std::min(value, next)
                                     : value + next;
    }
    if (op == Reduction::avg) {
      value = dtype == DType::int32
                  ? static_cast<float>(static_cast<int>(value) / static_cast<int>(divisor))
                  : value / static_cast<float>(divisor);
    }
    std::byte rounded[4];
    store(dtype, rounded, value);
    results[i] = load(dtype, rounded);
  }
  return results;
}

std::vector<const std::byte*> addresses(const std::vector<Elements>& inputs, std::size_t offset) {
  std::vector<const std::byte*> all;
  for (const Elements& each : inputs) all.push_back(each.data() + offset);
  return all;
}

// One element, and counts about one and several blocks of elements.
TEST(Reduce, IsThatOfEachElement) {
  std::mt19937 random(1);
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::int32}) {
    for (const Reduction op : all_reductions()) {
      for (const std::size_t count : {1u, 255u, 256u, 257u, 5000u}) {
        std::vector<Elements> inputs;
        for (int i = 0; i < 3; ++i) inputs.push_back(random_elements(dtype, count, random));
        const std::vector<float> wanted = expected(dtype, op, inputs, 7);
        const bool in_place = count % 2 == 1;
        Elements apart(inputs.front().size());
        std::byte* const output = in_place ? inputs[1].data() : apart.data();
        reduce(dtype, op, addresses(inputs, 0), output, count, 7);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(load(dtype, output + i * size_of(dtype)), wanted[i])
              << name(dtype) << " " << name(op) << " element " << i << " of " << count;
        }
      }
    }
  }
}

TEST(Reduce, AveragesSumsOfInt32ThatWrapAround) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> a = {most, -most, most, -7}, b = {1, -2, most, 2};
  std::vector<std::int32_t> sums(4), averages(4);
  const std::vector<const std::byte*> inputs = {reinterpret_cast<const std::byte*>(a.data()),
                                                reinterpret_cast<const std::byte*>(b.data())};
  reduce(DType::int32, Reduction::sum, inputs, reinterpret_cast<std::byte*>(sums.data()), 4);
  reduce(DType::int32, Reduction::avg, inputs, reinterpret_cast<std::byte*>(averages.data()), 4);
  EXPECT_EQ(sums, (std::vector<std::int32_t>{-most - 1, most, -2, -5}));
  EXPECT_EQ(averages, (std::vector<std::int32_t>{-(most / 2) - 1, most / 2, -1, -2}));
}

// Without a divisor an average divides by the number of inputs; addresses need no alignment.
TEST(Reduce, AveragesUnalignedInputs) {
  std::vector<Elements> inputs(2, Elements(1 + 2000 * sizeof(float)));
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto value = static_cast<float>(i);
    store(DType::fp32, inputs[0].data() + 1 + i * sizeof value, value);
    store(DType::fp32, inputs[1].data() + 1 + i * sizeof value, value + 2);
  }
  Elements output(inputs.front().size());
  reduce(DType::fp32, Reduction::avg, addresses(inputs, 1), output.data() + 1, 2000);
  for (std::size_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(load(DType::fp32, output.data() + 1 + i * sizeof(float)), static_cast<float>(i + 1));
  }
}

}  // namespace
}  // namespace duet
