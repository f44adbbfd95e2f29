// Units, element types, random numbers and run-time loading.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/dtype.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "core/module.h"
#include "core/names.h"
#include "core/plain_text.h"
#include "core/random.h"
#include "core/terminal.h"
#include "core/thread.h"
#include "core/units.h"

namespace duet {
namespace {

TEST(Units, ParsesBinaryAndDecimalSizes) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("64K"), 65536u);
  EXPECT_EQ(parse_bytes("64k"), 65536u);
  EXPECT_EQ(parse_bytes("16 MiB"), 16777216u);
  EXPECT_EQ(parse_bytes("1GB"), 1000000000u);
  EXPECT_EQ(parse_bytes("2G"), 2147483648u);
  EXPECT_EQ(parse_bytes("0"), 0u);
}

TEST(Units, RefusesWhatIsNoSize) {
  for (const char* text : {"", "K", "-1", "1.5M", "12 parsecs", "99999999999999999999", "1e9",
                           "18446744073709551615G"}) {
    EXPECT_THROW(parse_bytes(text), UsageError) << text;
  }
}

TEST(Units, PrintsExactSizesAndTimes) {
  EXPECT_EQ(format_bytes(4096), "4 KiB");
  EXPECT_EQ(format_bytes(2101346304), "2004 MiB");
  EXPECT_EQ(format_bytes(4097), "4097 B");
  EXPECT_EQ(format_seconds(0.0123), "12.300 ms");
  EXPECT_EQ(format_seconds(1.5e-6), "1.50 us");
  EXPECT_EQ(format_rate(391.24), "391.2");
}

TEST(Suggestion, IsTheNearestWordWhereOneIsNear) {
  const std::vector<std::string> known = {"copy", "compare", "collective", "gemm", "-n"};
  EXPECT_EQ(did_you_mean("cpy", known), " (did you mean 'copy'?)");
  EXPECT_EQ(did_you_mean("gmem", known), " (did you mean 'gemm'?)");
  EXPECT_EQ(did_you_mean("colective", known), " (did you mean 'collective'?)");
  EXPECT_EQ(did_you_mean("dance", known), "");
  EXPECT_EQ(did_you_mean("", known), "");
  EXPECT_EQ(did_you_mean("-q", known), " (did you mean '-n'?)");
  EXPECT_EQ(did_you_mean("xx", known), "");
}

TEST(DTypes, NamesRoundTrip) {
  for (DType type : all_dtypes()) {
    if (type != DType::int32) {
      EXPECT_EQ(parse_dtype(name(type)), type);
    }
  }
  EXPECT_THROW(parse_dtype("int32"), UsageError);
  EXPECT_EQ(parse_dtype("fp8"), DType::fp8_e4m3);
  EXPECT_EQ(parse_dtype("float"), DType::fp32);
  EXPECT_EQ(parse_dtype("half"), DType::fp16);
  EXPECT_EQ(parse_dtype("bfloat16"), DType::bf16);
  EXPECT_THROW(parse_dtype("fp12"), UsageError);
}

TEST(DTypes, E5M2IsFp16WithoutItsLastByte) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint8_t>(bits >> 8);
    const float value = load(DType::fp16, &half), cut = load(DType::fp8_e5m2, &high);
    std::uint8_t stored = 0;
    store(DType::fp8_e5m2, &stored, value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(load(DType::fp8_e5m2, &stored)));
    } else if (std::abs(value) >= 57344) {
      EXPECT_EQ(stored & 0x7F, 0x7B);
    } else if ((bits & 0xFF) == 0) {
      EXPECT_EQ(cut, value);
      EXPECT_EQ(stored, high);
    } else if ((bits & 0xFF) != 0x80) {
      EXPECT_EQ(stored, high + ((bits & 0xFF) > 0x80 ? 1 : 0));
    } else {
      EXPECT_EQ(stored, high + (high & 1)) << "a tie";
    }
  }
}

// Every bit pattern of the small formats is a fixed point of store(load()).
TEST(DTypes, SmallFormatsRoundTripExhaustively) {
  for (DType type : {DType::fp16, DType::bf16, DType::fp8_e4m3, DType::int8}) {
    const std::uint32_t count = size_of(type) == 1 ? 256 : 65536;
    for (std::uint32_t bits = 0; bits < count; ++bits) {
      std::uint32_t back = 0;
      const float value = load(type, &bits);
      if (std::isnan(value) || (type == DType::int8 && value == -128.0f)) continue;
      store(type, &back, value);
      ASSERT_EQ(back, bits) << name(type) << " " << value;
    }
  }
}

TEST(DTypes, RoundsToNearestEvenAndSaturates) {
  std::uint16_t half = 0;
  store(DType::fp16, &half, 1.0f + 1.0f / 2048);  // halfway between 1 and the next: to even
  EXPECT_EQ(half, 0x3C00);
  store(DType::fp16, &half, 65520.0f);
  EXPECT_EQ(half, 0x7C00);  // infinity
  store(DType::fp16, &half, std::ldexp(1.0f, -24));
  EXPECT_EQ(half, 1);  // smallest subnormal
  std::uint8_t byte = 0;
  store(DType::fp8_e4m3, &byte, 1000.0f);
  EXPECT_EQ(load(DType::fp8_e4m3, &byte), 448.0f);
  store(DType::fp8_e4m3, &byte, -464.0f);
  EXPECT_EQ(load(DType::fp8_e4m3, &byte), -448.0f);
  store(DType::int8, &byte, -300.0f);
  EXPECT_EQ(load(DType::int8, &byte), -127.0f);
}

// Of every number of a small format and its neighbour: what is between them goes to the nearer one,
// and the middle to the even one.
TEST(DTypes, SmallFormatsTakeTheNearestNumber) {
  for (const DType type : {DType::fp16, DType::fp8_e4m3, DType::fp8_e5m2}) {
    const std::uint32_t largest = type == DType::fp16       ? 0x7BFF
                                  : type == DType::fp8_e4m3 ? 0x7E
                                                            : 0x7B;
    for (std::uint32_t low = 0; low < largest; ++low) {
      const std::uint32_t high = low + 1, even = low + (low & 1);
      const float below = load(type, &low), above = load(type, &high);
      ASSERT_LT(below, above) << name(type) << " " << low;
      const float middle = below + (above - below) / 2;
      for (const auto& [value, expected] :
           {std::pair{std::nextafter(middle, 0.0f), low}, std::pair{middle, even},
            std::pair{std::nextafter(middle, above), high}}) {
        std::uint32_t stored = 0, negative = 0;
        store(type, &stored, value);
        ASSERT_EQ(stored, expected) << name(type) << " " << value;
        store(type, &negative, -value);
        ASSERT_EQ(negative, expected | (1u << (8 * size_of(type) - 1))) << name(type);
      }
    }
  }
}

TEST(DTypes, ConvertsManyElementsAsEachAlone) {
  constexpr std::size_t kCount = 20000;
  std::vector<DType> types = all_dtypes();
  types.push_back(DType::fp8_e5m2);
  for (const DType from : types) {
    for (const DType to : types) {
      std::vector<unsigned char> elements(kCount * size_of(from));
      for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = pattern_byte(1, i);
      std::vector<unsigned char> results(kCount * size_of(to)), expected = results;
      convert(from, elements.data(), to, results.data(), kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        store(to, &expected[i * size_of(to)], load(from, &elements[i * size_of(from)]));
      }
      EXPECT_TRUE(results == expected) << name(from) << " to " << name(to);
    }
  }
}

TEST(Random, PatternDependsOnSeedAndPositionOnly) {
  EXPECT_NE(random_word(1, 0), random_word(2, 0));
  EXPECT_NE(random_word(1, 0), random_word(1, 1));
  const std::uint64_t word = random_word(7, 3);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(pattern_byte(7, 24 + i), static_cast<unsigned char>(word >> (8 * i)));
  }
}

TEST(Random, NormalHasTheMomentsOfANormal) {
  double sum = 0, squares = 0, fourth = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = random_normal(3, static_cast<std::uint64_t>(i));
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(fourth / n, 3, 0.15);
}

TEST(Modules, SayWhyTheyAreNotThere) {
  const ModuleState& state = load_module("no_such_vendor");
  EXPECT_FALSE(state.loaded);
  EXPECT_EQ(state.reason, "not built in");
  EXPECT_THROW(Library({"libduet-no-such-thing.so.1"}), Unavailable);
}

// Ends with 0 if a small library is refused where it would fit, but nothing else would behind it.
[[noreturn]] void open_where_little_is_left() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (8u << 20);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
  try {
    Library({"libanl.so.1"});
    std::_Exit(1);
  } catch (const Unavailable& error) {
    std::_Exit(std::string(error.what()).find("no address space") == std::string::npos ? 2 : 0);
  }
}

TEST(ModulesWithLittleMemory, LeaveAddressSpaceToTheProgram) {
  EXPECT_EXIT(open_where_little_is_left(), ::testing::ExitedWithCode(0), "");
}

TEST(PlainText, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(plain_text("a b\n\tc"), "a b\n\tc");
  EXPECT_EQ(plain_text("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(plain_text("\x1b[2J\r\x7f"), "\\u001b[2J\\u000d\\u007f");
  EXPECT_EQ(plain_text(std::string(1, '\0')), "\\u0000");
  EXPECT_EQ(plain_text("\xc2\x9b"), "\\u009b");      // C1
  EXPECT_EQ(plain_text("\xe2\x80\xae"), "\\u202e");  // right to left
  EXPECT_EQ(plain_text("\xff\xc3"), "\\xff\\xc3");   // not UTF-8, and half of a character
  EXPECT_EQ(plain_text("\xc0\x9b"), "\\xc0\\x9b");   // an overlong encoding
  EXPECT_EQ(plain_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(one_line("a\nb\tc"), "a\\nb\\tc");
}

TEST(PlainText, StreamsKeepCharactersTogetherAndCommandsRaw) {
  std::ostringstream out;
  {
    const PlainStream plain(out);
    out << "\xe2"
        << "\x82"
        << "\xac" << StyledText{"1", "bold\x1b"} << "\xc3";
    command_terminal(out, "\r");
    out << StyledText{"", "as it is"} << "\xc3";
  }
  EXPECT_EQ(out.str(), "\xe2\x82\xac\x1b[1mbold\\u001b\x1b[0m\\xc3\ras it is\\xc3");
}

TEST(Threads, StartAndSayWhyNot) {
  bool ran = false;
  start_thread("a thread", [&] { ran = true; }).join();
  EXPECT_TRUE(ran);
  const std::string text = message_of<Error>([] {
    cannot_start("thread 3 of 4", std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(text.find("cannot start thread 3 of 4: Resource temp"), 0u);
}

enum class Fruit { apple, pear, plum };
constexpr NamedValue<Fruit> kFruits[] = {{Fruit::apple, "apple"}, {Fruit::pear, "pear"}};

TEST(Names, AreReadBackAsTheirValues) {
  EXPECT_STREQ(name_of(kFruits, Fruit::pear), "pear");
  EXPECT_STREQ(name_of(kFruits, Fruit::plum), "?");
  EXPECT_EQ(parse_name(kFruits, "unknown fruit", "apple"), Fruit::apple);
  EXPECT_EQ(values_in(kFruits), (std::vector<Fruit>{Fruit::apple, Fruit::pear}));
}

TEST(Names, UnknownOnesAreAnsweredWithTheValidOnes) {
  EXPECT_EQ(message_of<UsageError>([] { parse_name(kFruits, "--fruit: unknown fruit", "aple"); }),
            "--fruit: unknown fruit 'aple' (did you mean 'apple'?): expected one of apple, "
            "pear");
}

}  // namespace
}  // namespace duet
