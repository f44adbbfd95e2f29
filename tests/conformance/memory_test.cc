// Allocation, direct access, filling and checking.
#include <cstring>

#include "core/random.h"
#include "device/compare_spans.h"
#include "devices.h"

namespace duet::conformance {
namespace {

class Memory : public DeviceTest {};

TEST_P(Memory, ReadsBackWhatWasWritten) {
  for (MemoryKind kind :
       {MemoryKind::device, MemoryKind::pinned, MemoryKind::managed, MemoryKind::pageable}) {
    const Buffer buffer = device().allocate(1000, kind);
    std::vector<unsigned char> out(1000), in(1000);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned char>(i * 7);
    device().write(buffer.span(), out.data());
    device().read(buffer.span(), in.data());
    EXPECT_EQ(in, out) << name(kind);
    device().read(buffer.slice(13, 100), in.data());
    EXPECT_EQ(std::memcmp(in.data(), out.data() + 13, 100), 0);
  }
}

// If the CPU cannot access the memory, view() throws Unavailable with a reason.
TEST_P(Memory, IsTheSameSeenByTheCpu) {
  for (MemoryKind kind : {MemoryKind::device, MemoryKind::pinned, MemoryKind::managed}) {
    const Buffer buffer = filled(device(), 1000, pattern(3), kind);
    if (!device().has_contents(buffer.span())) continue;
    try {
      const auto view = device().view(buffer.slice(100, 500));
      for (std::size_t i = 0; i < 500; ++i) {
        ASSERT_EQ(std::to_integer<unsigned char>(view->data()[i]), pattern_byte(3, 100 + i)) << i;
      }
    } catch (const Unavailable& error) {
      EXPECT_EQ(kind, MemoryKind::device);
      EXPECT_NE(std::string(error.what()), "");
    }
  }
}

// Spans of any alignment, in device and in pinned memory.
TEST_P(Memory, IsComparedWithOtherMemory) {
  const Buffer one = filled(device(), 100003, pattern(3)),
               other = filled(device(), 100003, pattern(3), MemoryKind::pinned);
  if (!device().has_contents(one.span())) return;
  EXPECT_FALSE(compare_spans(one.span(), other.span()));
  for (const std::size_t at : {0, 77, 99998}) {
    const unsigned char byte = pattern_byte(3, at) ^ 0x10;
    device().write(other.slice(at, 1), &byte);
  }
  const auto found = compare_spans(one.span(), other.span());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 3u);
  EXPECT_EQ(found->first_offset, 0u);
  const auto behind = compare_spans(one.slice(1, 100001), other.slice(1, 100001));
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->count, 2u);
  EXPECT_EQ(behind->first_offset, 76u);
  EXPECT_FALSE(compare_spans(one.slice(78, 1000), other.slice(78, 1000)));
  EXPECT_FALSE(compare_spans(one.slice(0, 0), other.slice(0, 0)));
  EXPECT_THROW(compare_spans(one.slice(0, 8), other.slice(0, 9)), BadArgument);
}

TEST_P(Memory, IsADmabufOrSaysWhyNot) {
  const Buffer buffer = device().allocate(200000);
  try {
    const Dmabuf exported = device().export_dmabuf(buffer.slice(100000, 1000));
    EXPECT_GE(lseek(exported.descriptor(), 0, SEEK_END),
              static_cast<off_t>(exported.offset() + 1000));
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()), "");
  }
  EXPECT_THROW(device().export_dmabuf(device().allocate(64, MemoryKind::pinned).span()),
               Unavailable);
}

TEST_P(Memory, IsAlignedAndKnowsItself) {
  const Buffer buffer = device().allocate(77);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.span().data) % 256, 0u);
  EXPECT_EQ(buffer.span().owner, &device());
  EXPECT_EQ(buffer.bytes(), 77u);
  if (device().info().kind == "sim") return;
  const Buffer page = device().allocate(4097, MemoryKind::pageable);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page.span().data) % 4096, 0u);
}

TEST_P(Memory, OfNoBytesIsNotAnError) {
  const Buffer empty = device().allocate(0);
  EXPECT_EQ(empty.bytes(), 0u);
  EXPECT_FALSE(device().check(empty.slice(0, 0), pattern(1)).has_value());
}

TEST_P(Memory, PatternsAreTheSameBytesEverywhere) {
  const Buffer buffer = filled(device(), 5003, pattern(42, 11));
  std::vector<unsigned char> bytes(5003);
  device().read(buffer.span(), bytes.data());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(bytes[i], pattern_byte(42, 11 + i)) << i;
  }
}

TEST_P(Memory, NormalsAreWhatTheCpuMakes) {
  for (DType type : all_dtypes()) {
    const std::size_t count = 3001;
    const Fill fill{FillKind::normal, 5, 0, type};
    const Buffer buffer = filled(device(), count * size_of(type), fill);
    std::vector<std::byte> bytes(buffer.bytes());
    device().read(buffer.span(), bytes.data());
    const bool integer = type == DType::int8 || type == DType::int32;
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float value = load(type, bytes.data() + i * size_of(type));
      const float expected = (integer ? 16.0f : 1.0f) * random_normal(5, i);
      // Allows one step of the type, because devices' logarithms and cosines may differ in the last
      // place.
      const float step = integer ? 1.01f : type == DType::fp8_e4m3 ? 0.26f : 0.016f;
      ASSERT_NEAR(value, expected, step * std::max(1.0f, std::fabs(expected) / 2))
          << name(type) << " " << i;
      squares += value * value;
    }
    const double variance = squares / static_cast<double>(count) / (integer ? 256 : 1);
    EXPECT_NEAR(variance, 1, 0.1) << name(type);
  }
}

TEST_P(Memory, UnitsAreTheSameBitsEverywhere) {
  constexpr std::size_t kCount = 5003, kFirst = 3;
  const Fill fill{FillKind::unit, 42, 4 * kFirst, DType::fp32};
  const Buffer buffer = filled(device(), kCount * sizeof(std::uint32_t), fill);
  std::vector<std::uint32_t> bits(kCount);
  device().read(buffer.span(), bits.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(bits[i], random_unit_bits(42, kFirst + i)) << i;
  }
  EXPECT_FALSE(device().check(buffer.span(), fill).has_value());
  bits[700] ^= 1;
  device().write(buffer.span(), bits.data());
  const auto difference = device().check(buffer.span(), fill);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->count, 1u);
  EXPECT_EQ(difference->first_offset / sizeof(std::uint32_t), 700u);
}

TEST_P(Memory, CheckCountsAndPlacesWhatDiffers) {
  const Buffer buffer = filled(device(), 100003, pattern(9));
  EXPECT_FALSE(device().check(buffer.span(), pattern(9)).has_value());
  const unsigned char wrong = static_cast<unsigned char>(pattern_byte(9, 70001) + 1);
  device().write(buffer.slice(70001, 1), &wrong);
  const unsigned char second = static_cast<unsigned char>(pattern_byte(9, 100002) + 1);
  device().write(buffer.slice(100002, 1), &second);
  const auto difference = device().check(buffer.span(), pattern(9));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->count, 2u);
  EXPECT_EQ(difference->first_offset, 70001u);
  const auto tail = device().check(buffer.slice(70000, 30003), pattern(9, 70000));
  ASSERT_TRUE(tail.has_value());
  EXPECT_EQ(tail->first_offset, 1u);
}

TEST_P(Memory, DigitsReduceAsTheySay) {
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 1003;
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16, DType::int32}) {
    const std::size_t size = size_of(type);
    std::vector<std::vector<std::byte>> inputs;
    for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
      const Fill fill{FillKind::digits, 7 + rank, 5 * size, type, Reduction::sum, kRanks};
      const Buffer buffer = filled(device(), kCount * size, fill);
      EXPECT_FALSE(device().check(buffer.span(), fill).has_value()) << name(type);
      inputs.emplace_back(buffer.bytes());
      device().read(buffer.span(), inputs.back().data());
    }
    for (const Reduction op : all_reductions()) {
      const Fill fill{FillKind::digits_reduced, 7, 5 * size, type, op, kRanks};
      const Buffer buffer = filled(device(), kCount * size, fill);
      std::vector<std::byte> output(buffer.bytes());
      device().read(buffer.span(), output.data());
      for (std::size_t i = 0; i < kCount; ++i) {
        float value = load(type, inputs[0].data() + i * size);
        ASSERT_LE(std::fabs(value), 15);
        for (std::size_t rank = 1; rank < kRanks; ++rank) {
          const float next = load(type, inputs[rank].data() + i * size);
          const bool sums = op == Reduction::sum || op == Reduction::avg;
          value = sums                   ? value + next
                  : op == Reduction::max ? std::max(value, next)
                                         : std::min(value, next);
        }
        if (op == Reduction::avg) value /= kRanks;
        if (type == DType::int32) value = std::trunc(value);
        std::byte rounded[8];
        store(type, rounded, value);
        ASSERT_EQ(load(type, output.data() + i * size), load(type, rounded))
            << name(type) << " " << name(op) << " " << i;
      }
      EXPECT_FALSE(device().check(buffer.span(), fill).has_value()) << name(type) << name(op);
    }
  }
}

TEST_P(Memory, CheckOfDigitsCountsElementsAndAllowsAveragesTheirLastPlace) {
  const Fill sum{FillKind::digits_reduced, 9, 0, DType::bf16, Reduction::sum, 4};
  Fill average = sum;
  average.op = Reduction::avg;
  for (const Fill& fill : {sum, average}) {
    const Buffer buffer = filled(device(), 20000, fill);
    std::vector<std::uint16_t> elements(10000);
    device().read(buffer.span(), elements.data());
    elements[777] ^= 1;  // a change in the last place
    elements[9999] = 0x7FC0;
    device().write(buffer.span(), elements.data());
    const auto difference = device().check(buffer.span(), fill);
    ASSERT_TRUE(difference.has_value());
    const bool exact = fill.op == Reduction::sum;
    EXPECT_EQ(difference->count, exact ? 2u : 1u);
    EXPECT_EQ(difference->first_offset, exact ? 2u * 777 : 2u * 9999);
  }
}

TEST_P(Memory, RunsOutWithAnErrorAndStaysUsable) {
  EXPECT_THROW(device().allocate(1ull << 60), OutOfMemory);
  EXPECT_THROW(device().allocate(device().info().memory_bytes + 1), OutOfMemory);
  const Buffer buffer = filled(device(), 4096, pattern(1));
  EXPECT_FALSE(device().check(buffer.span(), pattern(1)).has_value());
}

TEST_P(Memory, ComesBackWhenReleased) {
  const std::uint64_t most = device().info().memory_bytes / 10 * 6;
  if (device().info().kind == "host") GTEST_SKIP() << "would touch most of the host's memory map";
  for (int i = 0; i < 4; ++i) {
    Buffer buffer = device().allocate(most);
    EXPECT_EQ(buffer.bytes(), most);
  }
}

TEST_P(Memory, BuffersMove) {
  Buffer first = filled(device(), 512, pattern(3));
  Buffer second = std::move(first);
  EXPECT_EQ(first.span().data, nullptr);
  EXPECT_FALSE(device().check(second.span(), pattern(3)).has_value());
  second = device().allocate(64);
  EXPECT_EQ(second.bytes(), 64u);
}

TEST_P(Memory, IsAdoptedWhereItIsTheDevicesOwn) {
  const Buffer buffer = device().allocate(5003);
  Span adopted;
  try {
    adopted = device().adopt(buffer.span().data, buffer.bytes());
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(adopted.owner, &device());
  auto stream = device().make_stream();
  stream->fill(adopted, pattern(4));
  stream->synchronize(kDeadline);
  EXPECT_FALSE(device().check(buffer.span(), pattern(4)).has_value());
  EXPECT_THROW(device().adopt(nullptr, 8), BadArgument);
  if (device().info().cpu_addressable) return;
  char word[8];
  EXPECT_THROW(device().adopt(word, sizeof word), BadArgument);
  if (!peer_is_another()) return;
  EXPECT_THROW(peer().adopt(buffer.span().data, buffer.bytes()), BadArgument);
}

// Sharing within one process; tests/multiprocess maps shared memory in a second process.
TEST_P(Memory, IsSharedWithItsPlace) {
  machine_->make_shareable();
  const Buffer buffer = device().allocate(9000);
  try {
    const MemoryDescriptor descriptor = device().export_memory(buffer.slice(4096, 100));
    EXPECT_EQ(descriptor.bytes, 100u);
    EXPECT_GE(descriptor.offset, 4096u);
    EXPECT_EQ(MemoryDescriptor::parse(descriptor.text()).key(), descriptor.key());
    EXPECT_THROW(device().import_memory(descriptor), Unavailable);
    device().close_export(descriptor);
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  const Buffer pinned = device().allocate(64, MemoryKind::pinned);
  EXPECT_THROW(device().export_memory(pinned.span()), Unavailable);
}

TEST_P(Memory, RefusesForeignSpans) {
  auto other = open_machine("host");
  const Buffer foreign = other->device(0).allocate(64);
  char byte[64];
  EXPECT_THROW(device().read(foreign.span(), byte), BadArgument);
  EXPECT_THROW(device().check(foreign.span(), pattern(1)), BadArgument);
  const Buffer own = device().allocate(64);
  EXPECT_THROW(device().check(own.span(), {FillKind::normal, 1, 0, DType::fp32}), BadArgument);
}

DUET_CONFORMANCE(Memory);

}  // namespace
}  // namespace duet::conformance
