#include "cli/lists.h"

#include <gtest/gtest.h>

#include "cli/flags.h"
#include "core/error.h"

namespace duet {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(Lists, Sizes) {
  EXPECT_EQ(parse_sizes("64K, 1MB"), (Sizes{65536, 1000000}));
  EXPECT_EQ(parse_sizes("4K..16K"), (Sizes{4096, 8192, 16384}));
  EXPECT_EQ(parse_sizes("4K..15K"), (Sizes{4096, 8192}));
  EXPECT_EQ(parse_sizes("7..7"), (Sizes{7}));
  EXPECT_EQ(parse_sizes("seed").front(), 4096u);
  EXPECT_EQ(parse_sizes("seed").back(), 2101346304u);
}

TEST(Lists, SizesThatAreNone) {
  for (const char* text : {"", "4K,", "x", "0", "2M..1M", "..4K", "4K..", "-1", "1.5M"}) {
    EXPECT_THROW(parse_sizes(text), UsageError) << text;
  }
}

TEST(Lists, Pairs) {
  EXPECT_EQ(parse_pairs("0-1,3-2"), (std::vector<std::pair<int, int>>{{0, 1}, {3, 2}}));
  for (const char* text : {"", "0", "0-", "-1-2", "0-1-2", "a-b"}) {
    EXPECT_THROW(parse_pairs(text), UsageError) << text;
  }
}

TEST(Lists, Numbers) {
  EXPECT_EQ(parse_number("256", 1, "--block"), 256);
  for (const char* text : {"", "0", "-5", "1k", "99999999999"}) {
    EXPECT_THROW(parse_number(text, 1, "--block"), UsageError) << text;
  }
  EXPECT_EQ(parse_number("8", 1, "--window", 8), 8);
  EXPECT_THROW(parse_number("9", 1, "--window", 8), UsageError);
}

TEST(Flags, ACommaAndALetterStartAnotherDevice) {
  EXPECT_EQ(device_names({{"host,cuda:0,1", "sim:mi300x-8"}}),
            (std::vector<std::string>{"host", "cuda:0,1", "sim:mi300x-8"}));
  EXPECT_THROW(device_names({{"host", "host"}}), UsageError);
}

TEST(Flags, OverridesOfAMode) {
  ModeFlags flags;
  EXPECT_EQ(mode_of(flags).kind, ModeKind::adaptive);
  flags.mode = "loop";
  flags.iterations = 7;
  EXPECT_EQ(mode_of(flags).iterations, 7);
  flags.mode = "adaptive";
  flags.iterations = 3;
  EXPECT_EQ(mode_of(flags).max_iterations, 3);
  EXPECT_EQ(mode_of(flags).min_iterations, 3);
  flags.mode = "do_bench";
  EXPECT_TRUE(mode_of(flags).flush);
  flags.flush = false;
  EXPECT_FALSE(mode_of(flags).flush);
  flags.mode = "fast";
  EXPECT_THROW(mode_of(flags), UsageError);
}

}  // namespace
}  // namespace duet
